"""Judges the captions of a past session again, with any quality estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.records.quality import Flag, Quality, QualityEstimator
from pipeline.records.utterance import UtteranceRecord, judged


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """A line of quality.jsonl: what `score` thinks of a caption."""

    id: int
    """The utterance."""
    estimator: str
    """Who estimated the quality of the translation."""
    flags: tuple[Flag, ...]
    """What is suspicious."""
    quality: Quality


def judge_again(
    utterances: Sequence[UtteranceRecord], estimator: QualityEstimator
) -> list[QualityRecord]:
    """Return the judgement of every caption that was shown.

    What was filtered has no caption to judge. An operator's edits are not in the records: the
    translator's own text is judged. Raises what the estimator raises.
    """
    shown = [(each, each.final) for each in utterances if each.final]
    estimates = estimator.estimate(
        [(each.text, final.text, final.avg_logprob) for each, final in shown if final]
    )
    again = [judged(each, told) for (each, _), told in zip(shown, estimates, strict=True)]
    return [
        QualityRecord(id=each.id, estimator=estimator.name, flags=each.flags, quality=each.quality)
        for each in again
        if each.quality is not None
    ]
