"""The degradation ladder: up at once, down with patience."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.workers.degradation import CALM_S, LIMIT_S, REASON, Degradation, Rung


@pytest.mark.parametrize(
    ("lag_s", "rung"),
    [(0.5, 0), (2.1, 1), (4.1, 2), (6.1, 3), (12.1, 4), (20.1, 5), (900.0, 5)],
)
def test_lag_leads_straight_to_its_rung(lag_s: float, rung: int) -> None:
    degradation = Degradation()
    assert degradation.observe(lag_s, 0.0) is (rung > 0)
    assert degradation.rung == rung


def test_it_steps_back_one_rung_after_calm_only() -> None:
    degradation = Degradation()
    degradation.observe(6.1, 0.0)
    assert not degradation.observe(0.1, 1.0)
    assert not degradation.observe(0.1, 1.0 + CALM_S - 0.1)
    assert degradation.observe(0.1, 1.0 + CALM_S)
    assert int(degradation.rung) == Rung.NO_PARTIALS
    assert degradation.observe(0.1, 1.0 + 2 * CALM_S)
    assert degradation.observe(0.1, 1.0 + 3 * CALM_S)
    assert not degradation.observe(0.1, 1.0 + 9 * CALM_S)
    assert int(degradation.rung) == Rung.FULL


def test_a_restless_time_starts_the_patience_anew() -> None:
    degradation = Degradation()
    degradation.observe(2.1, 0.0)
    degradation.observe(0.1, 1.0)
    degradation.observe(1.5, 8.0)  # over half of the rung's limit
    degradation.observe(0.1, 9.0)
    assert not degradation.observe(0.1, 9.0 + CALM_S - 0.1)
    assert degradation.observe(0.1, 9.0 + CALM_S)


def test_every_rung_has_a_limit_and_a_reason() -> None:
    assert set(LIMIT_S) | {Rung.FULL} == set(Rung) == set(REASON)
    assert list(LIMIT_S.values()) == sorted(LIMIT_S.values())
    assert [r for r in Rung if not REASON[r]] == [Rung.FULL]


@given(st.lists(st.floats(0, 100), max_size=60))
def test_the_rung_is_never_below_what_the_lag_asks_for(lags: list[float]) -> None:
    degradation = Degradation()
    for second, lag_s in enumerate(lags):
        degradation.observe(lag_s, float(second))
        assert all(degradation.rung >= rung for rung, limit in LIMIT_S.items() if lag_s > limit)
