"""The figures of a benchmark's runs: delays, erasure, lag, quality, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from pipeline.captions.subtitles import cues
from pipeline.core.percentiles import nearest_rank
from pipeline.evaluation.accuracy import chrf_and_bleu
from pipeline.records.utterance import UtteranceRecord
from scripts.bench.live import LiveRun
from scripts.bench.recordings import Material
from scripts.bench.sightings import (
    Erasure,
    History,
    View,
    committed,
    diagonal_lags_s,
    erasure,
    first_text_s,
    full,
    histories,
    reopenings,
)
from scripts.bench.streaming import emissions_with_finals, emissions_with_partials, long_yaal_s
from scripts.bench.word_lag import final_delays_s, recognized_words, word_lags_s
from scripts.support.voice_score import score_text

MEASURES = {
    "last syllable to draft, detected": "last_syllable_to_partial_ms",
    "last syllable to final, detected": "last_syllable_to_final_ms",
    "voice detector's wait": "vad_wait_ms",
    "recognizer, waiting": "stt_busy_ms",
    "recognizer": "stt_ms",
    "quick translator": "partial_ms",
    "final translator, waiting": "final_busy_ms",
    "final translator": "final_ms",
    "outside the engines": "overhead_ms",
}
"""What a caption's delay is made of, and the field of its record."""
_GLASS = "last syllable to glass, true"
"""Until a phone's page has painted the final."""
_COUNTED = ("eager", "reopen", "cancel", "split", "resum", "revis")
"""Beginnings of the names under which summary.json counts what became of eager finals."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table."""

    name: str
    values: tuple[float | None, ...]
    text: str
    comparable: bool = True
    """Whether the ratio of two first values says something."""


def figures(runs: Sequence[LiveRun], material: Material) -> list[Figure]:
    """Return all figures of the runs of one setting on one recording, at least one run."""
    each = [histories(run.sightings) for run in runs]
    captions = [caption for found in each for caption in found]
    painted = [caption for run in runs for caption in histories(run.painted)]
    shown = [record for run in runs for record in run.session.shown]
    memory = (health.memory_mb for run in runs for health in run.session.health)
    return [
        *_delays(captions, shown, material),
        *([_spread(_GLASS, _true_ms(painted, material))] if painted else []),
        *_erasures(captions),
        *_lags(each, captions, material),
        *_quality(runs, each, material),
        *_counts(captions, runs),
        _figure("CPU, s/s", [fmean(run.cpu for run in runs)]),
        _figure("memory, MB", [max(memory, default=None)], 0),
    ]


def _delays(
    captions: Sequence[History], shown: Sequence[UtteranceRecord], material: Material
) -> list[Figure]:
    return [
        _spread("last syllable to final, true", _true_ms(captions, material)),
        *(
            _spread(name, [ms for r in shown if (ms := getattr(r, key)) is not None])
            for name, key in MEASURES.items()
        ),
        _spread("start to first text", _known(captions, full)),
        _spread("start to first text, projector", _known(captions, committed)),
    ]


def _true_ms(captions: Sequence[History], material: Material) -> list[float]:
    return [delay_s * 1000 for delay_s in final_delays_s(captions, material.words)]


def _known(captions: Sequence[History], view: View) -> list[float]:
    firsts = (first_text_s(caption, view) for caption in captions)
    return [first_s * 1000 for first_s in firsts if first_s is not None]


def _erasures(captions: Sequence[History]) -> list[Figure]:
    projector, phone = erasure(captions, committed), erasure(captions, full)
    letters = erasure(captions, full, letters_only=True)
    parts: dict[str, Callable[[Erasure], int]] = {
        "": lambda e: e.total,
        ", before the final": lambda e: e.partial,
        ", by the final": lambda e: e.final,
        ", of finals": lambda e: e.reopened,
    }
    return [
        *(
            _figure(f"erasure, {view}{name}", [found.share(part(found))], 3)
            for view, found in (("projector", projector), ("phones", phone))
            for name, part in parts.items()
        ),
        _figure("erasure, phones, letters only", [letters.share(letters.total)], 3),
    ]


def _lags(
    each: Sequence[Sequence[History]], captions: Sequence[History], material: Material
) -> list[Figure]:
    heard = [
        lag_s for found in each for lag_s in word_lags_s(recognized_words(found), material.words)
    ]
    views: dict[str, View] = {"projector": committed, "phones": full}
    recording = material.recording
    yaal: dict[str, list[float]] = {"partials counted": [], "finals only": []}
    for found in each if recording else ():
        for name, emitted in (
            ("partials counted", emissions_with_partials(found)),
            ("finals only", emissions_with_finals(found)),
        ):
            lag_s = long_yaal_s(recording, emitted) if recording else None
            yaal[name] += [] if lag_s is None else [lag_s]
    return [
        _lag("a word as heard stands for good, s", heard),
        *(
            _lag(
                f"... in translation, {name}, s",
                [lag_s for caption in captions for lag_s in diagonal_lags_s(caption, view)],
            )
            for name, view in views.items()
        ),
        *(
            _figure(f"LongYAAL, {name}, s", [fmean(found) if found else None])
            for name, found in yaal.items()
        ),
    ]


def _quality(
    runs: Sequence[LiveRun], each: Sequence[Sequence[History]], material: Material
) -> list[Figure]:
    if not material.text:
        return []
    heard = [" ".join(caption.last.source.text for caption in found) for found in each]
    scores = [score_text([material.text], text) for text in heard]
    recording = material.recording
    chrf = [
        chrf_and_bleu(
            recording.sentences(recording.duration_s), cues(run.session.messages, "target")
        )[0]
        for run in (runs if recording else ())
        if recording
    ]
    known = [found for found in chrf if found is not None]
    return [
        _figure("WER, %", [100 * fmean(score.wer for score in scores)], 1),
        _figure("full stops, %", [_percent(scores)], 1),
        _figure("chrF", [fmean(known) if known else None], 1),
    ]


def _percent(scores: Sequence[Any]) -> float | None:
    of = sum(score.sentences for score in scores)
    return 100 * sum(score.stops for score in scores) / of if of else None


def _counts(captions: Sequence[History], runs: Sequence[LiveRun]) -> list[Figure]:
    lengths = [len(full(caption.last).split()) for caption in captions]
    lengths = [length for length in lengths if length]
    told: dict[str, float] = {"reopened, as seen": sum(map(reopenings, captions))}
    for run in runs:
        for name, count in _numbers(run.summary):
            told[name] = told.get(name, 0) + count
    return [
        _figure("captions", [len(lengths)], 0),
        _figure("words a caption, median", [median(lengths) if lengths else None], 1),
        _figure("captions of one word, %",
                [100 * lengths.count(1) / len(lengths) if lengths else None], 1),
        *(_figure(name, [count], 0, comparable=False) for name, count in sorted(told.items())),
    ]  # fmt: skip


def _numbers(summary: Any, path: str = "") -> Iterable[tuple[str, float]]:
    """Yield what a summary counts of eager finals, wherever in it that stands."""
    for name, value in summary.items():
        here = f"{path} {name}".strip().replace("_", " ")
        ours = any(word.startswith(_COUNTED) for word in here.split())
        if isinstance(value, dict):
            yield from _numbers(value, here)
        elif ours and isinstance(value, int) and not isinstance(value, bool):
            yield here, value


def _figure(
    name: str, values: Sequence[float | None], digits: int = 2, *, comparable: bool = True
) -> Figure:
    cells = ["-" if value is None else f"{value:.{digits}f}" for value in values]
    return Figure(name, tuple(values), " / ".join(cells), comparable)


def _spread(name: str, values_ms: Sequence[float]) -> Figure:
    """Return p50 and p95 of milliseconds."""
    ordered = sorted(values_ms)
    ranks = [nearest_rank(ordered, share) for share in (0.5, 0.95)] if ordered else []
    text = " / ".join(f"{ms:.{0 if abs(ms) >= 100 else 1}f}" for ms in ranks)
    return Figure(f"{name}, ms", tuple(ranks), text or "-")


def _lag(name: str, values_s: Sequence[float]) -> Figure:
    """Return mean, p90 and p95 of seconds."""
    ordered = sorted(values_s)
    if not ordered:
        return Figure(name, (), "-")
    ranks = [fmean(ordered), *(nearest_rank(ordered, share) for share in (0.9, 0.95))]
    return _figure(name, ranks)
