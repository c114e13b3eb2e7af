"""The audio of a church in an hour: speech, an organ, noise, silence, loose cables."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from pipeline.core.errors import AudioLostError
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock, Pcm
from scripts.demo.music import organ

_HYMN = "G3+B3+D4:4 C4+E4+G4:4 D4+F#4+A4:4 G3+B3+D4:4 E3+G3+B3:4 A3+C4+E4:4 D3+F#3+A3:4 G3+B3+D4:4"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the scenario; without samples it is a loose cable."""

    name: str
    pcm: Pcm | None
    seconds: float


def scenario(sermon: Path, seed: int = 1) -> list[Part]:
    """Return about a quarter of an hour, to be repeated."""
    pcm, rate = soundfile.read(sermon, dtype="float32")
    if rate != SAMPLE_RATE or pcm.ndim > 1:
        raise SystemExit(f"{sermon} is not 16 kHz mono.")
    draw = np.random.default_rng(seed)

    def noise(seconds: float, rms: float) -> Pcm:
        return np.asarray(draw.normal(0, rms, round(seconds * SAMPLE_RATE)), np.float32)

    hymn = np.asarray(organ(_HYMN, 60, SAMPLE_RATE), np.float32)
    hymn *= 0.1 / float(np.abs(hymn).max())
    speech = np.asarray(pcm, np.float32)
    parts = [
        ("sermon", speech),
        ("organ", np.tile(hymn, 4)),
        ("sermon in noise", speech + noise(len(speech) / SAMPLE_RATE, 0.003)),
        ("noise", noise(30, 0.02)),
        ("a quiet room", noise(60, 0.0003)),
        ("muted", np.zeros(12 * SAMPLE_RATE, np.float32)),
        ("sermon", speech),
    ]
    made = [Part(name, part, len(part) / SAMPLE_RATE) for name, part in parts]
    made.insert(3, Part("unplugged", None, 10.0))
    return made


class Cable:
    """Play the scenario repeatedly, `speed` times as fast, until `hours` are over."""

    name = "the soak's scenario"
    dropped_blocks = 0
    bad_samples = 0

    def __init__(self, parts: Sequence[Part], *, hours: float, speed: float) -> None:
        self._parts = parts
        self._end = round(hours * 3600 * SAMPLE_RATE)
        self._speed = speed
        self._closed = threading.Event()
        self._began_s = 0.0
        self._position = 0
        self._next = 0
        self.loose = 0
        """How often the cable has been loose so far."""

    def open(self) -> None:
        """Start, or continue where the cable came loose."""
        if not self._began_s:
            self._began_s = time.monotonic()

    def close(self) -> None:
        """End `blocks`."""
        self._closed.set()

    def blocks(self) -> Iterator[AudioBlock]:
        """Yield blocks at their time. Raises AudioLostError when the cable is loose."""
        while self._position < self._end and not self._closed.is_set():
            part = self._parts[self._next % len(self._parts)]
            self._next += 1
            if part.pcm is None:
                self._position += round(part.seconds * SAMPLE_RATE)
                self.loose += 1
                raise AudioLostError("audio-lost", "The cable is loose.")
            yield from self._play(part.pcm)

    def _play(self, pcm: Pcm) -> Iterator[AudioBlock]:
        for start in range(0, len(pcm) - BLOCK_SAMPLES + 1, BLOCK_SAMPLES):
            due_s = self._began_s + self._position / SAMPLE_RATE / self._speed
            if self._closed.wait(max(0.0, due_s - time.monotonic())) or self._position >= self._end:
                return
            block = pcm[start : start + BLOCK_SAMPLES]
            yield AudioBlock(self._position, block, time.monotonic())
            self._position += BLOCK_SAMPLES
