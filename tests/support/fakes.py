"""Engines that follow a script: `Speech(start_s, end_s, text)` is what is spoken and when.

They implement the protocols of pipeline.engines without a model, so that tests can check the
pipeline to the sample. They can be configured to fail or to be slow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.core.errors import EngineError, StarkError
from pipeline.core.types import (
    BLOCK_SAMPLES,
    SAMPLE_RATE,
    AudioBlock,
    Pcm,
    Recognition,
    Translation,
)
from pipeline.engines.protocols import PLAIN, TranslationRequest, never

OnText = Callable[[str], None] | None

# A sample's value identifies its speech: SCALE * (index + 1). So a recognizer can read the text
# from its samples, however they were cut.
SCALE = 0.001


@dataclass(frozen=True, slots=True)
class Speech:
    """Words spoken evenly between two times."""

    start_s: float
    end_s: float
    text: str


def pcm_of(script: Sequence[Speech], duration_s: float) -> Pcm:
    """Return samples in which each speech has its own constant value."""
    pcm = np.zeros(round(duration_s * SAMPLE_RATE), dtype=np.float32)
    for index, speech in enumerate(script):
        pcm[round(speech.start_s * SAMPLE_RATE) : round(speech.end_s * SAMPLE_RATE)] = SCALE * (
            index + 1
        )
    return pcm


def blocks_of(pcm: Pcm, first_sample: int = 0) -> Iterator[AudioBlock]:
    """Yield `pcm` in blocks, the last one padded with zeros."""
    for start in range(0, len(pcm), BLOCK_SAMPLES):
        piece = pcm[start : start + BLOCK_SAMPLES]
        piece = np.pad(piece, (0, BLOCK_SAMPLES - len(piece)))
        yield AudioBlock(first_sample + start, piece, time.monotonic())


@dataclass
class FakeSource:
    """Plays samples; `hold` keeps it open at the end until it is closed."""

    pcm: Pcm
    hold: bool = False
    speed: float = 0.0
    """0 is as fast as possible, 1 is real time."""
    waits: Sequence[tuple[float, threading.Event]] = ()
    """Times in seconds, in order, each with the event that it waits for."""
    name: str = "script"
    dropped_blocks: int = 0
    bad_samples: int = 0
    closed: threading.Event = field(default_factory=threading.Event)

    def open(self) -> None:
        self.closed.clear()

    def blocks(self) -> Iterator[AudioBlock]:
        waits = list(self.waits)
        for block in blocks_of(self.pcm):
            while waits and block.start_sample >= waits[0][0] * SAMPLE_RATE:
                _, event = waits.pop(0)
                while not (event.is_set() or self.closed.wait(0.02)):
                    pass
            if self.closed.is_set():
                return
            if self.speed:
                self.closed.wait(BLOCK_SAMPLES / SAMPLE_RATE / self.speed)
            yield block
        if self.hold:
            self.closed.wait()

    def close(self) -> None:
        self.closed.set()


class FakeDetector:
    """Detects every sample that is not zero as speech."""

    def load(self) -> None: ...

    def probability(self, pcm: Pcm) -> float:
        return 1.0 if np.count_nonzero(pcm) * 2 >= len(pcm) else 0.0

    def reset(self) -> None: ...


@dataclass
class FakeSongDetector:
    """Detects song between two times (seconds) of the sound that it has heard."""

    songs: Sequence[tuple[float, float]]
    blocks: int = 0

    def load(self) -> None: ...

    def probability(self, pcm: Pcm, speech: float) -> float | None:
        self.blocks += 1
        if self.blocks % 8:
            return None
        at_s = self.blocks * BLOCK_SAMPLES / SAMPLE_RATE - 1.0  # a real detector lags as well
        return float(any(start_s <= at_s < end_s for start_s, end_s in self.songs))

    def reset(self) -> None: ...


@dataclass
class FakeRecognizer:
    """Reads the script back from the samples: as many words of a speech as it has heard."""

    script: Sequence[Speech]
    name: str = "fake"
    fails: Callable[[int], bool] = lambda _call: False
    delay_s: float = 0.0
    calls: int = 0
    hotwords: str = ""
    degraded_reason: str = ""
    says: Callable[[Pcm, bool], Recognition | None] = lambda _pcm, _final: None
    """Returns what it recognizes (samples, final) in place of the script's words."""

    def __post_init__(self) -> None:
        self.is_cancelled: Callable[[], bool] = never

    def load(self) -> None: ...

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        self.calls += 1
        time.sleep(self.delay_s)
        if self.fails(self.calls):
            raise EngineError("stt-failed", "The recognizer was told to fail.")
        if said := self.says(pcm, final):
            return said
        words: list[str] = []
        for index, speech in enumerate(self.script):
            heard = np.count_nonzero(np.isclose(pcm, SCALE * (index + 1), atol=SCALE / 10))
            share = heard / ((speech.end_s - speech.start_s) * SAMPLE_RATE)
            every = speech.text.split()
            words += every[: round(share * len(every))]
        return Recognition(
            " ".join(words), avg_logprob=-0.1, no_speech_prob=0.0, compression_ratio=1.0
        )


@dataclass
class FakeTranslator:
    """Adds its own name to every word: "grace" becomes "grace-es"."""

    name: str = "fake"
    fails: Callable[[int], bool] = lambda _call: False
    delay_s: float = 0.0
    hang: threading.Event | None = None
    """When given, `translate` waits for it."""
    streams: bool = False
    calls: int = 0
    degraded_reason: str = ""
    deadline_s: float = 8.0
    says: Callable[[str, OnText], Translation | None] = lambda _text, _on_text: None
    """Returns the translation of a text in place of words with its name."""
    cannot_load: StarkError | None = None

    def __post_init__(self) -> None:
        self.is_cancelled: Callable[[], bool] = never

    def load(self) -> None:
        if self.cannot_load:
            raise self.cannot_load

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        on_text = request.on_text
        self.calls += 1
        if self.hang is not None:
            self.hang.wait()
        time.sleep(self.delay_s)
        if self.fails(self.calls):
            raise EngineError("final-failed", "The translator was told to fail.")
        if made := self.says(text, on_text):
            return made
        words = [f"{word}-{self.name}" for word in text.split()]
        if self.streams and on_text is not None:
            for count in range(1, len(words)):
                on_text(" ".join(words[:count]))
        return Translation(" ".join(words), self.name, tokens=len(words), avg_logprob=-0.2)
