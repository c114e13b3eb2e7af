"""Judge the captions of a past session again, with any quality estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.records.quality import Flag, Quality, QualityEstimator
from pipeline.records.utterance import UtteranceRecord, judged


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """A line of quality.jsonl: the judgement of a caption by `score`."""

    id: int
    """The utterance."""
    estimator: str
    """Name of the estimator of the translation's quality."""
    flags: tuple[Flag, ...]
    """Measures past their limit."""
    quality: Quality


def judge_again(
    utterances: Sequence[UtteranceRecord], estimator: QualityEstimator
) -> list[QualityRecord]:
    """Return the judgement of every caption that was shown.

    Filtered utterances have no caption. An operator's edits are not in the records: the
    translator's own text is judged. Raises the estimator's errors.
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
