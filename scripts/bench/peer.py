"""A peer to compare with: whisper_streaming's policy on our recognizer, and this program beside it.

    python -m scripts.bench.peer                                   human voices, whisper-base
    python -m scripts.bench.peer --recording pauses voices --markdown docs/BENCHMARKS.md

The peer is LocalAgreement-2 (scripts.bench.local_agreement) with voice activity control: a pause of
half a second ends a text. It is simulated on the recording's clock, once as on an infinitely fast
machine and once with the CPU time of each recognition added (one thread). What of whisper_streaming
is left out: the prompt of earlier text; and its tail is recognized once more at a pause, where
whisper_streaming takes over what it had. This program is measured in real time, translating
as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track

from pipeline.audio.silero_vad import Silero
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import StarkError
from pipeline.core.percentiles import nearest_rank
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from scripts.bench import recordings
from scripts.bench.live import run_live
from scripts.bench.local_agreement import LocalAgreement
from scripts.bench.machine import machine
from scripts.bench.recordings import Material, SpokenWord, read_audio
from scripts.bench.report_section import markdown, show, write
from scripts.bench.sightings import History, Sighting, erasure, histories, recognized
from scripts.bench.word_lag import recognized_words, word_lags_s
from scripts.bench.word_times import WordAligner
from scripts.support.voice_score import score_text

STEP_S = 1.0
"""New sound between two recognitions (`--min-chunk-size`)."""
PAUSE_S = 0.5
"""Silence that ends a text (its voice activity control)."""
LONG_S = 15.0
"""A longer buffer is cut (`--buffer_trimming_sec`)."""
_BEFORE_S = 0.25
"""Sound before the voice that is recognized with it."""

T = TypeVar("T")
Hear = Callable[[Pcm], str]
Align = Callable[[Pcm, str], Sequence[SpokenWord]]

TITLE = "## A peer: LocalAgreement"
PREFACE = """
Made by `python -m scripts.bench.peer`: whisper_streaming's policy (LocalAgreement-2 over a growing
buffer, a pause of 0.5 s ends a text; arXiv:2307.14743), written down anew and run on our
recognizer, and this program with its translators in real time, on the same recordings. Seconds are
mean / p90 / p95 from a word's own end until it stands for good, as heard. The peer is simulated:
as on an infinitely fast machine, and with the CPU time of one thread added. CPU is that of all
that runs: for the peer the recognizer and the voice detector, for this program everything.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """What one way gave on one recording."""

    name: str
    captions: Sequence[History]
    cpu: float
    """CPU seconds for each second of audio."""


@dataclass(slots=True)
class Clock:
    """Where in the recording the simulation is, and until when the one thread computes."""

    counts: bool
    """Whether computing takes time."""
    free_s: float = 0.0
    used_s: float = 0.0

    def compute(self, at_s: float, work: Callable[[], T]) -> tuple[T, float]:
        """Do work that is asked for at a time; return what it gave, and when."""
        begun_s = time.process_time()
        told = work()
        took_s = time.process_time() - begun_s
        self.used_s += took_s
        if self.counts:
            self.free_s = max(at_s, self.free_s) + took_s
        return told, max(at_s, self.free_s)


class Peer:
    """LocalAgreement on a recording's clock. `hear` is a recognizer, `align` tells word times."""

    def __init__(self, hear: Hear, align: Align, clock: Clock) -> None:
        self._hear = hear
        self._align = align
        self._clock = clock
        self._seen: list[Sighting] = []
        self._policy = LocalAgreement()
        self._id = 0
        self._start = self._heard = 0

    def play(self, pcm: Pcm, voiced: Sequence[bool]) -> list[History]:
        """Return the texts of a recording; `voiced` says of each block whether there is voice."""
        lead = round(_BEFORE_S * SAMPLE_RATE)
        is_open = False
        for number, voice in enumerate(voiced):
            end = (number + 1) * BLOCK_SAMPLES
            if voice and not is_open:
                self._begin(max(self._start, end - BLOCK_SAMPLES - lead))
            elif is_open and not voice:
                self._recognize(pcm, end, final=True)
                self._start = end
            elif voice and self._is_due(end):
                self._recognize(pcm, end, final=False)
            is_open = voice
        if is_open:
            self._recognize(pcm, len(pcm), final=True)
        return histories(self._seen)

    def _is_due(self, end: int) -> bool:
        has_new = end - self._heard >= STEP_S * SAMPLE_RATE
        return has_new and self._clock.free_s <= end / SAMPLE_RATE

    def _begin(self, start: int) -> None:
        self._id += 1
        self._policy = LocalAgreement()
        self._start = self._heard = start

    def _recognize(self, pcm: Pcm, end: int, *, final: bool) -> None:
        part, self._heard = pcm[self._start : end], end
        text, at_s = self._clock.compute(end / SAMPLE_RATE, lambda: self._hear(part))
        self._policy.push(text.split(), final=final)
        self._show(at_s, end / SAMPLE_RATE, final=final)
        place = self._policy.cut_place()
        if not final and place and len(part) > LONG_S * SAMPLE_RATE:
            kept = " ".join(self._policy.in_buffer)
            spoken, _ = self._clock.compute(at_s, lambda: self._align(part, kept))
            self._policy.cut(place)
            self._start += round(spoken[place - 1].end_s * SAMPLE_RATE)

    def _show(self, at_s: float, heard_s: float, *, final: bool) -> None:
        text = " ".join(self._policy.committed)
        message = CaptionMessage(
            seq=len(self._seen) + 1,
            id=self._id,
            revision=len(self._seen) + 1,
            final=final,
            start_s=0.0,
            end_s=heard_s,
            source=SourceText("en", text),
            target=TargetText("en", text, "source"),
            stable=len(text),
        )
        self._seen.append(Sighting(at_s, message))


def voiced_blocks(pcm: Pcm, settings: Settings) -> tuple[list[bool], float]:
    """Return for each block whether there is voice, pauses shorter than PAUSE_S filled.

    And the CPU seconds that this took. A block counts as silent once a pause is long enough.
    """
    detector, vad = Silero(), settings.vad
    detector.load()
    begun_s = time.process_time()
    found, is_voice, silent_s = [], False, 0.0
    for start in range(0, len(pcm) - BLOCK_SAMPLES + 1, BLOCK_SAMPLES):
        probability = detector.probability(pcm[start : start + BLOCK_SAMPLES])
        limit = vad.end_threshold if is_voice else vad.threshold
        silent_s = 0.0 if probability >= limit else silent_s + BLOCK_SAMPLES / SAMPLE_RATE
        is_voice = not silent_s or (is_voice and silent_s < PAUSE_S)
        found.append(is_voice)
    return found, time.process_time() - begun_s


def peers(material: Material, settings: Settings) -> list[Column]:
    """Return the peer on an infinitely fast machine, and on this one. Raises StarkError."""
    pcm = np.concatenate([read_audio(material.audio), np.zeros(SAMPLE_RATE, np.float32)])
    voiced, detector_s = voiced_blocks(pcm, settings)
    engine = factory.recognizer(settings, Dictionary(settings))
    engine.load()
    aligner = WordAligner(resolve("stt", settings.stt.model, ModelLibrary.of(settings)))
    found = []
    for name, counts in (("infinitely fast", False), ("computing counted", True)):
        clock = Clock(counts)
        peer = Peer(lambda part: engine.recognize(part, final=False).text, aligner.align, clock)
        captions = peer.play(pcm, voiced)
        cpu = (clock.used_s + detector_s) * SAMPLE_RATE / len(pcm)
        found.append(Column(f"LocalAgreement, {name}", captions, cpu))
    return found


def ours(material: Material, settings: Sequence[str]) -> Column:
    """Return this program in real time."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_live(material.audio, "realtime", settings, Path(folder))
    return Column("this program, in real time", histories(run.sightings), run.cpu)


def rows(columns: Sequence[Column], material: Material) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    made: dict[str, list[str]] = {}
    for each in columns:
        heard = " ".join(caption.last.source.text for caption in each.captions)
        score = score_text([material.text], heard)
        lags_s = sorted(word_lags_s(recognized_words(each.captions), material.words))
        erased = erasure(each.captions, recognized)
        share = erased.share(erased.total)
        cells = {
            "a word stands for good, s": _lags(lags_s),
            "words with a lag": f"{len(lags_s)} of {len(material.words)}",
            "WER": f"{score.wer:.1%}",
            "full stops": f"{score.stops} of {score.sentences}",
            "erasure": "-" if share is None else f"{share:.3f}",
            "texts": str(len(each.captions)),
            "CPU, s/s": f"{each.cpu:.2f}",
        }
        for name, cell in cells.items():
            made.setdefault(name, []).append(cell)
    return [["", *(each.name for each in columns)], *([name, *told] for name, told in made.items())]


def _lags(lags_s: Sequence[float]) -> str:
    if not lags_s:
        return "-"
    figures = (fmean(lags_s), nearest_rank(lags_s, 0.9), nearest_rank(lags_s, 0.95))
    return " / ".join(f"{lag_s:.2f}" for lag_s in figures)


def section(tables: Sequence[tuple[str, list[list[str]]]]) -> str:
    """Return the section of docs/BENCHMARKS.md: a name and a table for each recording."""
    parts = [markdown([[name, *head[1:]], *body]) for name, (head, *body) in tables]
    about = machine()
    made = f"- {about['date']}, {about['cpu']}; ctranslate2 {about['ctranslate2']}"
    return f"{TITLE}\n{PREFACE}\n" + "\n\n".join(parts) + f"\n\n{made}\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recording", nargs="+", choices=["sermon", "pauses", "voices"],
                        default=["voices"], help="(default voices)")  # fmt: skip
    parser.add_argument("--voices", type=Path, default=bundled("demo", "voices"), metavar="FOLDER",
                        help="a folder with a voices.json (default demo/voices)")  # fmt: skip
    parser.add_argument("--recognizer", default="whisper-base", help="as stt.model has it")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    parser.add_argument("--alone", action="store_true", help="without this program")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file")
    arguments = parser.parse_args(argv)
    chosen = [f"stt.model={arguments.recognizer}", *arguments.set]
    flags = dict(each.partition("=")[::2] for each in chosen)
    tables = []
    try:
        settings = load(flags=flags | {"stt.threads": 1, "stt.hotwords": False}).settings
        with tempfile.TemporaryDirectory() as folder:
            for name in track(arguments.recording, "hearing", console=Console(stderr=True)):
                material = (
                    recordings.voices(arguments.voices, Path(folder))
                    if name == "voices"
                    else recordings.demo(name)
                )
                columns = peers(material, settings)
                columns += [] if arguments.alone else [ours(material, chosen)]
                tables.append((name, rows(columns, material)))
    except StarkError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.markdown:
        write(arguments.markdown, TITLE, section(tables))
    for name, table in tables:
        show(table, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
