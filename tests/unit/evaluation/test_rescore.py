"""Rescoring: the same records with another estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.evaluation.rescore import CometKiwi, MeaningAgreement, judge_again
from pipeline.records.utterance import filtered_record
from tests.support.schemas import problems
from tests.support.utterances import UTC, draft, final, kept, transcript


class Judge(CometKiwi):
    """An estimator that returns given values."""

    def __init__(self, *says: float) -> None:
        super().__init__()
        self.says = says
        self.asked: list[tuple[str, str]] = []

    def estimate(self, captions: Sequence[tuple[str, str]]) -> list[float]:
        self.asked += captions
        return list(self.says)


def test_the_live_estimator_comes_to_the_live_judgement() -> None:
    live = kept(final(), draft())
    (again,) = judge_again([live])
    assert (again.flags, again.quality) == (live.flags, live.quality)
    assert (again.id, again.estimator) == (live.id, "log-probability")
    assert problems("records/quality", orjson.loads(orjson.dumps(again))) == []


def test_each_caption_gets_its_own_estimate_and_what_was_filtered_none() -> None:
    first, second = kept(final(), draft()), kept(final("La gracia de Dios"), draft())
    nothing = filtered_record(transcript(filtered="empty"), mode="live", utc=UTC)
    judge = Judge(0.95, 0.65)
    records = [replace(each, id=key) for key, each in enumerate((first, nothing, second), 1)]
    good, doubtful = judge_again(records, judge)
    assert judge.asked == [
        ("the grace of God", "La gracia de Dios."),
        ("the grace of God", "La gracia de Dios"),
    ]
    assert (good.id, good.flags, good.quality.parts.estimate) == (1, (), 0.95)
    assert (doubtful.id, doubtful.flags) == (3, ("estimate:flag",))


def test_the_agreement_can_be_that_of_what_is_meant(meaning: MeaningAgreement) -> None:
    live, alone = kept(final(), draft()), replace(kept(final(), draft()), agreement=None)
    again, still = judge_again([live, alone], meaning=meaning)
    assert again.agreement_by == "cosine"
    assert live.partial is not None
    assert live.final is not None
    wanted = meaning.agreement(live.partial.text, live.final.text)
    assert again.quality.parts.agreement == wanted
    assert still.quality.parts.agreement is None, "one engine made both"
    assert problems("records/quality", orjson.loads(orjson.dumps(again))) == []


def test_a_session_of_before_there_was_quality_can_be_judged() -> None:
    old = replace(kept(final(), draft()), flags=(), quality=None)
    (again,) = judge_again([old])
    assert again.quality.decision == "moderate"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def meaning(gemma_270m: Path) -> MeaningAgreement:
    made = MeaningAgreement(gemma_270m)
    made.load()
    return made


def test_it_is_a_share_and_the_same_text_agrees_with_itself(meaning: MeaningAgreement) -> None:
    same = meaning.agreement("La gracia de Dios.", "La gracia de Dios.")
    other = meaning.agreement("La gracia de Dios.", "El autobús sale a las nueve.")
    assert same == pytest.approx(1, abs=1e-3)
    assert other is not None
    assert 0 <= other < 0.99


def test_where_nothing_is_said_there_is_nothing_to_compare(meaning: MeaningAgreement) -> None:
    assert meaning.agreement("", "La gracia de Dios.") is None
    assert meaning.agreement("La gracia de Dios.", "  ") is None
