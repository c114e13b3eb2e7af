"""Limits fitted to people's decisions."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.core.errors import LearningError
from pipeline.evaluation.rescore import judge_again
from pipeline.learning.limits import (
    OWN,
    Decided,
    fit_limits,
    limits_in_use,
    reviewed_measures,
    write_limits,
)
from pipeline.records.quality import Limit, LogProbability
from pipeline.session.reader import Session
from tests.support.services import GOOD, WRONG, decide, hold

SPECIFIED = {"cosine": Limit(0.6, 0.4)}


def decided(count: int, *, wrong: float = 0.4, right_at: float = 0.9) -> list[Decided]:
    """Return decisions of a measure that puts the wrong ones .2 lower."""
    rng = random.Random(8)
    judged = [rng.random() < wrong for _ in range(count)]
    return [(rng.gauss(right_at - 0.2 * bad, 0.05), bad) for bad in judged]


def test_a_tenth_of_the_right_ones_is_flagged_and_most_of_the_wrong_ones() -> None:
    (made,) = fit_limits({"cosine": decided(400)}, SPECIFIED)
    assert made.limit.flag == pytest.approx(0.84, abs=0.02)
    assert made.limit.reject < made.limit.flag
    assert made.marked == pytest.approx(0.1, abs=0.08)
    assert made.caught > 0.9 > made.caught_in_use
    assert made.is_better


def test_limits_that_tell_no_more_do_not_replace_those_in_use() -> None:
    (made,) = fit_limits({"cosine": decided(400)}, {"cosine": Limit(0.8, 0.7)})
    (again,) = fit_limits({"cosine": decided(400)}, {"cosine": made.limit})
    assert not again.is_better


def test_each_measure_has_its_own() -> None:
    measures = {"chrf": decided(200, right_at=0.6), "cometkiwi": decided(200, right_at=0.85)}
    chrf, kiwi = fit_limits(measures, {})
    assert (chrf.measure, kiwi.measure) == ("chrf", "cometkiwi")
    assert chrf.limit.flag < kiwi.limit.flag


@pytest.mark.parametrize(("count", "wrong"), [(99, 0.4), (300, 0.0), (300, 1.0)])
def test_too_few_decisions_are_refused(count: int, wrong: float) -> None:
    with pytest.raises(LearningError, match="of cosine; 100 are needed") as told:
        fit_limits({"cosine": decided(count, wrong=wrong)}, {})
    assert told.value.code == "limits-too-few"


def test_they_are_kept_beside_those_of_other_measures(tmp_path: Path) -> None:
    write_limits(fit_limits({"cosine": decided(400)}, SPECIFIED), tmp_path)
    write_limits(fit_limits({"chrf": decided(400, right_at=0.6)}, {}), tmp_path)
    assert set(limits_in_use(tmp_path)) == {"chrf", "cosine"}


@pytest.mark.parametrize("content", ["", "{", '{"chrf": 3}', "[]"])
def test_a_broken_file_leaves_the_specified_ones(tmp_path: Path, content: str) -> None:
    (tmp_path / OWN).write_text(content)
    assert limits_in_use(tmp_path) == {}


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(LearningError, match="cannot be written"):
        write_limits(fit_limits({"cosine": decided(400)}, SPECIFIED), tmp_path / "none")


def test_what_people_decided_is_read_with_the_newest_measure(tmp_path: Path) -> None:
    folder = hold(tmp_path, [GOOD, WRONG])
    decide(folder, 1, "approved", GOOD.source, GOOD.target)
    decide(folder, 2, "rejected")
    live = reviewed_measures([folder])
    assert [is_wrong for _, is_wrong in live["chrf"]] == [False, True]
    assert live["chrf"][0][0] > live["chrf"][1][0]
    assert set(live) == {"chrf", "log-probability"}
    judged = judge_again(Session(folder).utterances, LogProbability())
    again = [replace(each, agreement_by="cosine", estimator="cometkiwi") for each in judged]
    lines = b"".join(orjson.dumps(each) + b"\n" for each in again)
    (folder / "quality.jsonl").write_bytes(lines)
    assert set(reviewed_measures([folder])) == {"cosine", "cometkiwi"}
