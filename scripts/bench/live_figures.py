"""The figures of a benchmark's runs: delays, erasure, lag, quality, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.captions.subtitles import cues
from pipeline.evaluation.accuracy import chrf_and_bleu
from scripts.bench.live import LiveRun
from scripts.bench.recordings import Material
from scripts.bench.report_section import mean_p90_p95, ranks, slashed
from scripts.bench.sightings import (
    History,
    View,
    committed,
    diagonal_lags_s,
    erasure,
    full,
    histories,
)
from scripts.bench.word_lag import final_delays_s, recognized_words, word_lags_s
from scripts.support.voice_score import score_text

MEASURES = {
    "last syllable to draft, detected": "last_syllable_to_partial_ms",
    "last syllable to final, detected": "last_syllable_to_final_ms",
    "recognizer": "stt_ms",
    "quick translator": "partial_ms",
    "final translator": "final_ms",
}
"""The parts of a caption's delay, and the field of the record for each."""
VIEWS: dict[str, View] = {"projector": committed, "phones": full}


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table."""

    name: str
    values: tuple[float | None, ...]
    text: str


def figures(runs: Sequence[LiveRun], material: Material) -> list[Figure]:
    """Return all figures of the runs of one setting on one recording, at least one run."""
    each = [histories(run.sightings) for run in runs]
    captions = [caption for found in each for caption in found]
    painted = [caption for run in runs for caption in histories(run.painted)]
    shown = [record for run in runs for record in run.session.shown]
    memory = (health.memory_mb for run in runs for health in run.session.health)
    taken_back = {name: erasure(captions, view) for name, view in VIEWS.items()}
    heard = [s for found in each for s in word_lags_s(recognized_words(found), material.words)]
    glass = _spread("last syllable to glass, true", _true_ms(painted, material))
    return [
        _spread("last syllable to final, true", _true_ms(captions, material)),
        *([glass] if painted else []),
        *(
            _spread(name, [ms for r in shown if (ms := getattr(r, key)) is not None])
            for name, key in MEASURES.items()
        ),
        *(
            _figure(f"erasure, {name}", found.share(found.total), 3)
            for name, found in taken_back.items()
        ),
        _lag("a word as heard stands for good, s", heard),
        *(
            _lag(
                f"... in translation, {name}, s",
                [lag_s for caption in captions for lag_s in diagonal_lags_s(caption, view)],
            )
            for name, view in VIEWS.items()
        ),
        *_quality(runs, each, material),
        _figure("captions", sum(bool(full(caption.last)) for caption in captions), 0),
        _figure("CPU, s/s", fmean(run.cpu for run in runs)),
        _figure("memory, MB", max(memory, default=None), 0),
    ]


def _true_ms(captions: Sequence[History], material: Material) -> list[float]:
    """Return the time from the true end of the last word to the final ("to glass": its paint)."""
    return [delay_s * 1000 for delay_s in final_delays_s(captions, material.words)]


def _quality(
    runs: Sequence[LiveRun], each: Sequence[Sequence[History]], material: Material
) -> list[Figure]:
    if not material.text:
        return []
    heard = [" ".join(caption.last.source.text for caption in found) for found in each]
    scores = [score_text([material.text], text) for text in heard]
    chrf = [
        chrf_and_bleu(material.sentences, cues(run.session.messages, "target"))[0] for run in runs
    ]
    known = [found for found in chrf if found is not None]
    of = sum(score.sentences for score in scores)
    stops = 100 * sum(score.stops for score in scores) / of if of else None
    return [
        _figure("WER, %", 100 * fmean(score.wer for score in scores), 1),
        _figure("full stops, %", stops, 1),
        _figure("chrF", fmean(known) if known else None, 1),
    ]


def _figure(name: str, value: float | None, digits: int = 2) -> Figure:
    return Figure(name, (value,), "-" if value is None else f"{value:.{digits}f}")


def _spread(name: str, values_ms: Sequence[float]) -> Figure:
    """Return p50 and p95 of milliseconds."""
    found = ranks(values_ms, 0.5, 0.95)
    text = " / ".join(f"{ms:.{0 if abs(ms) >= 100 else 1}f}" for ms in found)
    return Figure(f"{name}, ms", tuple(found), text or "-")


def _lag(name: str, values_s: Sequence[float]) -> Figure:
    """Return mean, p90 and p95 of seconds."""
    found = mean_p90_p95(values_s)
    return Figure(name, tuple(found), slashed(found))
