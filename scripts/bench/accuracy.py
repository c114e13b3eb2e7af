"""Measure what is recognized of human voices: words, full stops, sentences, and the CPU it takes.

    python -m scripts.bench.accuracy                                    whisper-base, 10 s and 30 s
    python -m scripts.bench.accuracy --model starter --window 0 10 30
    python -m scripts.bench.accuracy --markdown docs/BENCHMARKS.md

The recordings of demo/voices are cut into utterances by the program's own voice detector and
segmenter, as they are, softer, in noise and with the pauses shortened, and each utterance is
recognized once, as a final. Every window is measured without and with the dictionary's hot words.
CPU seconds are those of this process, so other programs hardly matter.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from pipeline.audio.file import read_audio
from pipeline.audio.level import level_dbfs
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import recognizer
from pipeline.evaluation.reference import read_voices
from pipeline.text.hallucinations import reason
from scripts.bench.recordings import utterances
from scripts.bench.report_section import machine, markdown, show, write
from scripts.support.command import parser_of, says_errors
from scripts.support.voice_score import score_text

_PAUSE_S = 0.25
"""Below `vad.silence_ms`: sentences follow each other without a cut."""
_LONG_S = 10.0
_SEED = 20261122

TITLE = "## What is recognized of human voices"
_PREFACE = """
Made by `python -m scripts.bench.accuracy`: the recordings of demo/voices, cut into utterances
as the program cuts them. "Full stops" are sentences whose last word has one; a sentence is lost
if less than half of its words are heard; "tails" are utterances whose end was left out at first,
and how many of these a second look gave; "filtered" are utterances not shown. CPU is seconds of
processor time for a second of utterances: compare the ratios.
"""


@dataclass(frozen=True, slots=True)
class Material:
    """A text, and the utterances in which it is spoken."""

    condition: str
    text: str
    utterances: tuple[Pcm, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a setting gave in all conditions together, and in each."""

    model: str
    window_s: float
    hotwords: bool
    wer: float
    """0..1 and above."""
    wer_of: dict[str, float]
    words: int
    stops: int
    sentences: int
    lost: int
    lost_tails: int
    recovered_tails: int
    filtered: int
    cpu: float
    """CPU seconds for each second of utterances."""


@says_errors
def main() -> int:
    """Measure, print; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--voices", type=Path, default=bundled("demo", "voices"), metavar="FOLDER",
                        help="recordings with a voices.json (default demo/voices)")  # fmt: skip
    parser.add_argument("--model", nargs="+", default=["whisper-base"],
                        help='as stt.model has it; default "whisper-base"')  # fmt: skip
    parser.add_argument("--window", nargs="+", type=float, default=[10.0, 30.0], metavar="S",
                        help="encoder windows; 0 is the model's own (default 10 30)")  # fmt: skip
    parser.add_argument("--hotwords", choices=["both", "on", "off"], default="both")
    parser.add_argument("--show", action="store_true", help="print what was recognized")
    parser.add_argument("--markdown", type=Path, help="write the table into this file")
    arguments = parser.parse_args()
    hot = {"both": [False, True], "on": [True], "off": [False]}[arguments.hotwords]
    spoken = material(arguments.voices)
    turns = list(product(arguments.model, arguments.window, hot))
    results = [
        measure(_settings(model, window_s, hotwords=on), spoken, show=arguments.show)
        for model, window_s, on in track(turns, "hearing", console=Console(stderr=True))
    ]
    if arguments.markdown:
        write(arguments.markdown, TITLE, section(results))
    show(rows(results))
    return 0


def material(folder: Path, *, clean: bool = False) -> list[Material]:
    """Return all recordings of a folder in all conditions, or the clean ones. Raises StarkError."""
    settings = load(flags={"vad.partial_ms": 0}).settings
    random = np.random.default_rng(_SEED)
    found = []
    for path, voice in read_voices(folder).items():
        pcm = read_audio(path)
        made = {
            "as recorded": pcm,
            "14 dB softer": pcm * np.float32(10 ** (-14 / 20)),
            "noise at 15 dB": _with_noise(pcm, 15.0, random),
            "noise at 10 dB": _with_noise(pcm, 10.0, random),
        }
        for condition, audio in list(made.items())[: 1 if clean else None]:
            cut = tuple(each.pcm for each in utterances(audio, settings.vad))
            found.append(Material(condition, voice.text, cut))
            if condition == "as recorded":
                found.append(Material("pauses shortened", voice.text, tuple(joined(cut))))
    return found


def joined(utterances: Sequence[Pcm]) -> Iterator[Pcm]:
    """Yield utterances in groups of at most 10 s, short pauses between them."""
    group: list[Pcm] = []
    for utterance in utterances:
        if group and (sum(map(len, group)) + len(utterance)) / SAMPLE_RATE > _LONG_S:
            yield np.concatenate(group)
            group = []
        if group:
            group.append(np.zeros(round(_PAUSE_S * SAMPLE_RATE), np.float32))
        group.append(utterance)
    if group:
        yield np.concatenate(group)


def measure(settings: Settings, spoken: Sequence[Material], *, show: bool = False) -> Figures:
    """Recognize everything with these settings. Raises ModelError, EngineError, ConfigError."""
    engine = recognizer(settings, Dictionary(settings))
    engine.load()
    wrong: dict[str, float] = {}
    words: dict[str, int] = {}
    stops = sentences = lost = tails = recovered = filtered = 0
    cpu_s = audio_s = 0.0
    for each in spoken:
        texts = []
        for pcm in each.utterances:
            began_s = time.process_time()
            heard = engine.recognize(pcm, final=True)
            cpu_s += time.process_time() - began_s
            audio_s += len(pcm) / SAMPLE_RATE
            tails += heard.lost_tail_s > 0
            recovered += heard.tail_recovered
            why = reason(heard, heard.text, level_dbfs(pcm), len(pcm) / SAMPLE_RATE)
            filtered += bool(why)
            texts.append("" if why else heard.text)
        score = score_text([each.text], " ".join(texts))
        wrong[each.condition] = wrong.get(each.condition, 0.0) + score.wer * score.words
        words[each.condition] = words.get(each.condition, 0) + score.words
        stops, sentences = stops + score.stops, sentences + score.sentences
        lost += len(score.lost)
        if show:
            print(f"{each.condition}: {' | '.join(texts)}")
    return Figures(
        model=engine.name.partition(":")[2],
        window_s=settings.stt.window_s,
        hotwords=settings.stt.hotwords,
        wer=sum(wrong.values()) / sum(words.values()),
        wer_of={condition: wrong[condition] / words[condition] for condition in wrong},
        words=sum(words.values()),
        stops=stops,
        sentences=sentences,
        lost=lost,
        lost_tails=tails,
        recovered_tails=recovered,
        filtered=filtered,
        cpu=cpu_s / audio_s,
    )


def rows(results: Sequence[Figures]) -> list[list[str]]:
    """Return the table's head and its rows: a measure each, a setting a column."""
    measures = {
        "WER": [f"{each.wer:.1%}" for each in results],
        **{
            f"WER, {condition}": [f"{each.wer_of[condition]:.1%}" for each in results]
            for condition in results[0].wer_of
        },
        "full stops": [f"{each.stops} of {each.sentences}" for each in results],
        "sentences lost": [str(each.lost) for each in results],
        "tails": [f"{each.lost_tails}, {each.recovered_tails} recovered" for each in results],
        "filtered": [str(each.filtered) for each in results],
        "CPU, s/s": [f"{each.cpu:.3f}" for each in results],
    }
    return [["", *map(_column, results)], *([name, *told] for name, told in measures.items())]


def _column(figures: Figures) -> str:
    window = f"{figures.window_s:g} s" if figures.window_s else "its own window"
    return f"{figures.model}, {window}{', hot words' if figures.hotwords else ''}"


def section(results: Sequence[Figures]) -> str:
    """Return the section of docs/BENCHMARKS.md."""
    about = machine()
    notes = f"- {results[0].words} words; {about['date']}, {about['cpu']}, INT8, two threads"
    return f"{TITLE}\n{_PREFACE}\n{markdown(rows(results))}\n\n{notes}\n"


def _settings(model: str, window_s: float, *, hotwords: bool) -> Settings:
    flags = {"stt.model": model, "stt.window_s": window_s, "stt.hotwords": hotwords}
    return load(flags=flags).settings


def _with_noise(pcm: Pcm, below_db: float, random: np.random.Generator) -> Pcm:
    """Return audio with pink noise so far below its speech, that is below what is not silent."""
    spectrum = np.fft.rfft(random.standard_normal(len(pcm)))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    spectrum[0] = 0
    noise = np.fft.irfft(spectrum, len(pcm))
    speech = np.sqrt(np.mean(pcm[np.abs(pcm) > 0.01] ** 2))
    level = speech * 10 ** (-below_db / 20) / np.sqrt(np.mean(noise**2))
    return np.asarray(pcm + noise * level, np.float32)


if __name__ == "__main__":
    sys.exit(main())
