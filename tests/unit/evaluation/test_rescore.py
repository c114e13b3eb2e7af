"""Judging again: the same records and another estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from pipeline.core.errors import SessionError
from pipeline.evaluation.rescore import judge_again
from pipeline.records.quality import LogProbability
from pipeline.records.utterance import filtered_record
from tests.support.schemas import problems
from tests.support.utterances import UTC, draft, final, record, transcript


class Judge:
    """An estimator that says what it is told to."""

    name = "judge"

    def __init__(self, *says: float | None) -> None:
        self.says = says
        self.asked: list[tuple[str, str, float | None]] = []

    def load(self) -> None: ...

    def estimate(self, captions: Sequence[tuple[str, str, float | None]]) -> list[float | None]:
        self.asked += captions
        return list(self.says)


def read(*records: dict[str, Any]) -> list[dict[str, Any]]:
    """Return records as they come back from a file."""
    return [orjson.loads(orjson.dumps(each)) for each in records]


def test_the_live_estimator_comes_to_the_live_judgement() -> None:
    (live,) = read(record(final(), draft()))
    (again,) = judge_again([live], LogProbability())
    told = orjson.loads(orjson.dumps(again))
    assert (told["flags"], told["quality"]) == (live["flags"], live["quality"])
    assert (told["id"], told["estimator"]) == (live["id"], "log-probability")
    assert problems("records/quality", told) == []


def test_each_caption_gets_its_own_estimate_and_what_was_filtered_none() -> None:
    first, second = record(final(), draft()), record(final("La gracia de Dios"), draft())
    nothing = filtered_record(transcript(filtered="empty"), mode="live", utc=UTC)
    judge = Judge(0.95, 0.65)
    health = {"type": "health", "id": 1}
    records = read(first | {"id": 1}, health, nothing | {"id": 2}, second | {"id": 3})
    good, doubtful = judge_again(records, judge)
    assert judge.asked == [
        ("the grace of God", "La gracia de Dios.", -0.105),
        ("the grace of God", "La gracia de Dios", -0.105),
    ]
    assert (good.id, good.flags, good.quality.parts.estimate) == (1, (), 0.95)
    assert (doubtful.id, doubtful.flags) == (3, ("estimate:flag",))


def test_an_estimator_that_cannot_tell_leaves_the_log_probability() -> None:
    (live,) = read(record(final(), draft()))
    (again,) = judge_again([live], Judge(None))
    assert again.quality.parts.estimate == live["quality"]["parts"]["estimate"]


def test_a_session_of_before_there_was_quality_can_be_judged() -> None:
    (old,) = read(record(final(), draft()))
    del old["flags"], old["quality"]
    (again,) = judge_again([old], LogProbability())
    assert again.quality.decision == "moderate"


def test_a_record_that_is_none_is_named() -> None:
    (bad,) = read(record(final(), draft()))
    bad["final"]["text"] = None
    with pytest.raises(SessionError) as refused:
        judge_again([bad], LogProbability())
    assert refused.value.code == "session-unreadable"
    assert "Utterance 7" in refused.value.message
    assert "final.text" in refused.value.message
