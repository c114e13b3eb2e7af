"""Pairs filed anew after a session was judged again."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import SessionError
from pipeline.evaluation.rescore import QualityRecord, judge_again
from pipeline.records.quality import LogProbability
from pipeline.review.refile import refile
from pipeline.review.store import Review
from pipeline.session.reader import Session
from pipeline.session.recorder import SessionRecorder
from pipeline.session.training_pairs import MODERATE, NAMES, PAIRS, QUEUE, REJECTED, parse_pair
from tests.support.services import GOOD, UNSURE, WRONG, decide, hold


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hidden = replace(GOOD, source="Somebody has hidden this one.", edit="")
    return hold(tmp_path, [GOOD, UNSURE, replace(WRONG, edit="Cantaremos otra vez."), hidden])


def judged(folder: Path, **scores: float) -> list[QualityRecord]:
    """Return the judgement of a session, with other scores for some: `u1=0.3`."""
    made = judge_again(Session(folder).utterances, LogProbability())
    return [
        replace(
            each,
            quality=replace(
                each.quality,
                score=scores[f"u{each.id}"],
                decision="review" if scores[f"u{each.id}"] < 0.7 else "accept",
            ),
        )
        if f"u{each.id}" in scores
        else each
        for each in made
    ]


def filed(folder: Path) -> dict[str, list[int]]:
    return {
        name: [parse_pair(line).id for line in (folder / name).read_bytes().splitlines()]
        for name in NAMES
    }


def test_the_same_judgement_changes_nothing(folder: Path) -> None:
    before = filed(folder)
    assert before == {PAIRS: [1, 3], QUEUE: [], MODERATE: [2], REJECTED: []}
    assert refile(folder, judged(folder)) == {PAIRS: 2, QUEUE: 0, MODERATE: 1, REJECTED: 0}
    assert filed(folder) == before


def test_another_one_moves_the_pairs_and_edits_stay(folder: Path) -> None:
    refile(folder, judged(folder, u1=0.6, u2=0.9))
    assert filed(folder) == {PAIRS: [2, 3], QUEUE: [1], MODERATE: [], REJECTED: []}


def test_what_people_decided_holds(folder: Path) -> None:
    refile(folder, judged(folder, u1=0.6))
    with closing(Review(folder)) as review:
        review.decide(
            1, "approved", source=GOOD.source, target="La gracia es grande.", reviewer="Ana"
        )
    refile(folder, judged(folder, u1=0.95, u2=0.95))
    assert filed(folder) == {PAIRS: [2, 3, 1], QUEUE: [1], MODERATE: [], REJECTED: []}
    with closing(Review(folder)) as review:
        assert [(item.id, item.outcome) for item in review.items()] == [(1, "corrected")]
    decide(folder, 1, "rejected")
    refile(folder, judged(folder, u1=0.95))
    assert filed(folder)[PAIRS] == [3]


def test_a_session_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    made = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=print)
    try:
        with pytest.raises(SessionError) as told:
            refile(made.folder, [])
    finally:
        made.start()
        made.close(5.0)
    assert told.value.code == "session-in-use"
