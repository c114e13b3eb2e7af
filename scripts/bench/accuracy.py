"""Measure the recognition of human voices: words, full stops, sentences and CPU time.

    python -m scripts.bench.accuracy                                    whisper-base, 10 s and 30 s
    python -m scripts.bench.accuracy --model starter --window 0 10 30
    python -m scripts.bench.accuracy --markdown docs/BENCHMARKS.md

The program's own voice detector and segmenter cut the recordings of demo/voices into utterances:
unchanged, softer, in noise and with shorter pauses. Each utterance is recognized once, as a final.
Every window is measured without and with the dictionary's hot words. CPU seconds are those of this
process, so other programs hardly matter.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

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
from scripts.bench.report_section import made, show, write
from scripts.support.command import parser_of, progress, says_errors
from scripts.support.voice_score import score_text

_PAUSE_S = 0.25
"""Shorter than `vad.silence_ms`: sentences follow each other without a cut."""
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
    """A text and the utterances that speak it."""

    condition: str
    text: str
    utterances: tuple[Pcm, ...]


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--voices", type=Path, default=bundled("demo", "voices"), metavar="FOLDER",
                        help="recordings with a voices.json (default demo/voices)")  # fmt: skip
    parser.add_argument("--model", nargs="+", default=["whisper-base"],
                        help='as stt.model has it; default "whisper-base"')  # fmt: skip
    parser.add_argument("--window", nargs="+", type=float, default=[10.0, 30.0], metavar="S",
                        help="encoder windows; 0 is the model's own (default 10 30)")  # fmt: skip
    parser.add_argument("--markdown", type=Path, help="write the table into this file")
    arguments = parser.parse_args(argv)
    spoken = material(arguments.voices)
    turns = list(product(arguments.model, arguments.window, (False, True)))
    columns = {}
    for model, window_s, hot in progress(turns, "hearing"):
        flags = {"stt.model": model, "stt.window_s": window_s, "stt.hotwords": hot}
        window = f"{window_s:g} s" if window_s else "its own window"
        name = f"{model}, {window}{', hot words' if hot else ''}"
        columns[name] = measure(load(flags=flags).settings, spoken)
    table = rows(columns)
    words = sum(len(each.text.split()) for each in spoken)
    notes = [f"{words} words; {made()}, INT8, two threads"]
    show(table)  # first: the file may be one that cannot be written
    write(arguments.markdown, TITLE, table, preface=_PREFACE, notes=notes)
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


def measure(settings: Settings, spoken: Sequence[Material]) -> dict[str, str]:
    """Recognize everything with these settings; return the measures in printed form.

    Raises ModelError, EngineError, ConfigError.
    """
    engine = recognizer(settings, Dictionary(settings))
    engine.load()
    wrong, words, count = defaultdict[str, float](float), Counter[str](), Counter[str]()
    cpu_s = audio_s = 0.0
    for each in spoken:
        texts = []
        for pcm in each.utterances:
            began_s = time.process_time()
            heard = engine.recognize(pcm, final=True)
            cpu_s += time.process_time() - began_s
            audio_s += len(pcm) / SAMPLE_RATE
            why = reason(heard, heard.text, level_dbfs(pcm), len(pcm) / SAMPLE_RATE)
            count["tails"] += heard.lost_tail_s > 0
            count["recovered"] += heard.tail_recovered
            count["filtered"] += bool(why)
            texts.append("" if why else heard.text)
        score = score_text([each.text], " ".join(texts))
        for condition in ("", f", {each.condition}"):
            wrong[condition] += score.wer * score.words
            words[condition] += score.words
        count["stops"] += score.stops
        count["sentences"] += score.sentences
        count["lost"] += len(score.lost)
    return {
        **{f"WER{condition}": f"{wrong[condition] / words[condition]:.1%}" for condition in words},
        "full stops": f"{count['stops']} of {count['sentences']}",
        "sentences lost": str(count["lost"]),
        "tails": f"{count['tails']}, {count['recovered']} recovered",
        "filtered": str(count["filtered"]),
        "CPU, s/s": f"{cpu_s / audio_s:.3f}",
    }


def rows(columns: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Return the table's heading and rows: a row per measure, a column per setting."""
    first = next(iter(columns.values()))
    return [["", *columns], *([name, *(c[name] for c in columns.values())] for name in first)]


def _with_noise(pcm: Pcm, below_db: float, random: np.random.Generator) -> Pcm:
    """Return audio with pink noise `below_db` below its speech, that is its non-silent part."""
    spectrum = np.fft.rfft(random.standard_normal(len(pcm)))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    spectrum[0] = 0
    noise = np.fft.irfft(spectrum, len(pcm))
    speech = np.sqrt(np.mean(pcm[np.abs(pcm) > 0.01] ** 2))
    level = speech * 10 ** (-below_db / 20) / np.sqrt(np.mean(noise**2))
    return np.asarray(pcm + noise * level, np.float32)


if __name__ == "__main__":
    sys.exit(main())
