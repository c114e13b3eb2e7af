"""Fitting the model that separates wrong captions from right ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pipeline.church.fidelity.doubt import FEATURES, Evidence
from pipeline.learning.fitting import ENOUGH, FEWEST, auc, fit, is_enough, parted


def made(count: int = 400) -> tuple[list[Evidence], list[bool]]:
    """Return evidence in which wrong captions score lower; one in three has no score."""
    rng = random.Random(4)
    wrong = [rng.random() < 0.3 for _ in range(count)]
    evidence = [
        Evidence(
            quick_mean=None if rng.random() < 0.3 else rng.gauss(-4 if bad else -1, 1),
            length=abs(rng.gauss(0.6 if bad else 0.1, 0.2)),
        )
        for bad in wrong
    ]
    return evidence, wrong


def test_a_fitted_judge_tells_wrong_from_right() -> None:
    evidence, wrong = made()
    model = fit(evidence, wrong)
    scores = [model.probability(each) for each in evidence]
    assert auc(scores, wrong) > 0.95
    weight = dict(zip(FEATURES, model.weights, strict=True))
    assert weight["quick_mean"] < 0 < weight["length"]
    assert weight["heard"] == 0  # no evidence has it
    assert sum(scores) / len(scores) == pytest.approx(sum(wrong) / len(wrong), abs=0.02)


def test_what_is_not_known_speaks_neither_way() -> None:
    model = replace(fit(*made()), bias=0.0)
    assert model.probability(Evidence()) == 0.5
    assert model.probability(Evidence(heard=-9.0)) == 0.5


def test_the_area_under_the_curve_counts_ties_as_half() -> None:
    assert auc([0.1, 0.9], [False, True]) == 1.0
    assert auc([0.9, 0.1], [False, True]) == 0.0
    assert auc([0.5, 0.5, 0.5], [False, True, True]) == 0.5
    assert auc([0.5], [True]) == 0.5


def test_both_kinds_are_needed_and_both_are_held_out() -> None:
    decided = [(n, n < FEWEST) for n in range(ENOUGH)]
    assert is_enough(decided)
    assert not is_enough(decided[1:])
    assert not is_enough([(n, False) for n in range(ENOUGH)])
    learnt, held_out = parted(decided)
    assert sorted(learnt + held_out) == sorted(decided)
    assert len(held_out) == 34
    assert {wrong for _, wrong in learnt} == {wrong for _, wrong in held_out} == {True, False}
