"""Judges the captions of a past session again, with any quality estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pipeline.core.errors import SessionError
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
    records: Sequence[Mapping[str, Any]], estimator: QualityEstimator
) -> list[QualityRecord]:
    """Return the judgement of every caption that was shown.

    `records` are those of diagnostics.jsonl; what was filtered has no caption to judge. An
    operator's edits are not in them: the translator's own text is judged. Raises SessionError
    (session-unreadable) and what the estimator raises.
    """
    shown = [(each, each.final) for each in map(_read, _utterances(records)) if each.final]
    estimates = estimator.estimate(
        [(each.text, final.text, final.avg_logprob) for each, final in shown if final]
    )
    again = [judged(each, told) for (each, _), told in zip(shown, estimates, strict=True)]
    return [
        QualityRecord(id=each.id, estimator=estimator.name, flags=each.flags, quality=each.quality)
        for each in again
        if each.quality is not None
    ]


def _utterances(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [record for record in records if record["type"] == "utterance"]


_RECORD = TypeAdapter(UtteranceRecord)


def _read(record: Mapping[str, Any]) -> UtteranceRecord:
    try:
        return _RECORD.validate_python(record)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        message = f"Utterance {record.get('id')} of the record: {where}: {problem['msg']}."
        raise SessionError("session-unreadable", message) from None
