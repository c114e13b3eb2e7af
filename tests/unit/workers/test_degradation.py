"""The degradation ladders: up at once, down after a calm time, each stage separately."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.workers.degradation import CALM_S, LIMIT_S, REASON, Degradation, Rung, Waits

LONG_S = 900.0


@pytest.mark.parametrize(
    ("lag_s", "recognizer", "quick", "final"),
    [
        (0.5, 0, 0, 0),
        (2.1, 1, 1, 1),
        (4.1, 2, 2, 2),
        (6.1, 2, 2, 3),
        (12.1, 2, 4, 3),
        (20.1, 5, 4, 3),
        (LONG_S, 5, 4, 3),
    ],
)
def test_lag_leads_straight_to_its_stages_rung(
    lag_s: float, recognizer: int, quick: int, final: int
) -> None:
    for waits, rung in (
        (Waits(recognizer_s=lag_s), recognizer),
        (Waits(quick_s=lag_s), quick),
        (Waits(final_s=lag_s), final),
    ):
        degradation = Degradation()
        assert degradation.observe(waits, 0.0) is (rung > 0)
        assert degradation.rung == rung


def test_each_stage_gives_up_its_own_work_only() -> None:
    heard, quick, final = Degradation(), Degradation(), Degradation()
    heard.observe(Waits(recognizer_s=LONG_S), 0.0)
    quick.observe(Waits(quick_s=LONG_S), 0.0)
    final.observe(Waits(final_s=LONG_S), 0.0)
    assert (heard.spares_quick, heard.spares_final) == (False, False)
    assert (quick.spares_quick, quick.spares_final) == (True, False)
    assert (final.spares_quick, final.spares_final) == (False, True)


def test_the_reason_names_the_stages_that_are_late() -> None:
    degradation = Degradation()
    assert degradation.reason == ""
    degradation.observe(Waits(recognizer_s=5.0, final_s=5.0), 0.0)
    assert degradation.reason == (
        "behind: no partial captions (the recognizer and the final translator are late)"
    )


def test_it_steps_back_one_rung_after_calm_only() -> None:
    degradation = Degradation()
    degradation.observe(Waits(final_s=6.1), 0.0)
    calm = Waits(0.1, 0.1, 0.1)
    assert not degradation.observe(calm, 1.0)
    assert not degradation.observe(calm, 1.0 + CALM_S - 0.1)
    assert degradation.observe(calm, 1.0 + CALM_S)
    assert int(degradation.rung) == Rung.NO_PARTIALS
    assert degradation.observe(calm, 1.0 + 2 * CALM_S)
    assert degradation.observe(calm, 1.0 + 3 * CALM_S)
    assert not degradation.observe(calm, 1.0 + 9 * CALM_S)
    assert int(degradation.rung) == Rung.FULL


def test_a_stage_steps_back_while_another_is_behind() -> None:
    degradation = Degradation()
    degradation.observe(Waits(recognizer_s=LONG_S, final_s=7.0), 0.0)
    assert degradation.spares_final
    for now_s in (1.0, 1.0 + CALM_S):
        degradation.observe(Waits(recognizer_s=LONG_S), now_s)
    assert not degradation.spares_final
    assert int(degradation.rung) == Rung.BEHIND


def test_a_restless_time_starts_the_patience_anew() -> None:
    degradation = Degradation()
    degradation.observe(Waits(2.1), 0.0)
    degradation.observe(Waits(0.1), 1.0)
    degradation.observe(Waits(1.5), 8.0)  # over half of the rung's limit
    degradation.observe(Waits(0.1), 9.0)
    assert not degradation.observe(Waits(0.1), 9.0 + CALM_S - 0.1)
    assert degradation.observe(Waits(0.1), 9.0 + CALM_S)


def test_every_rung_has_a_limit_and_a_reason() -> None:
    assert set(LIMIT_S) | {Rung.FULL} == set(Rung) == set(REASON)
    assert list(LIMIT_S.values()) == sorted(LIMIT_S.values())
    assert [r for r in Rung if not REASON[r]] == [Rung.FULL]


@given(st.lists(st.tuples(*[st.floats(0, 100)] * 3), max_size=60))
def test_the_rung_is_never_below_what_a_stage_asks_for(
    lags: list[tuple[float, float, float]],
) -> None:
    degradation = Degradation()
    for second, lag_s in enumerate(lags):
        degradation.observe(Waits(*lag_s), float(second))
        asked = Rung.NO_PARTIALS if max(lag_s) > LIMIT_S[Rung.NO_PARTIALS] else Rung.FULL
        assert degradation.rung >= asked
        assert degradation.spares_quick or lag_s[1] <= LIMIT_S[Rung.SOURCE_CAPTIONS]
        assert degradation.spares_final or lag_s[2] <= LIMIT_S[Rung.PARTIAL_ENGINE_FINALS]
