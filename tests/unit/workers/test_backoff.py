"""When an engine rests, and for how long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.workers.backoff import Rest


def test_it_rests_after_some_errors_and_then_longer_and_longer() -> None:
    rest = Rest(after=3, first_s=10, most_s=30)
    for now_s in (0.0, 1.0):
        rest.failed(now_s)
        assert not rest.resting(now_s)
        assert not rest.spent
    rest.failed(2.0)
    assert rest.spent
    assert rest.resting(11.9)
    assert not rest.resting(12.0)
    rest.failed(12.0)
    assert rest.resting(31.9)
    assert not rest.resting(32.0)
    rest.failed(32.0)
    assert not rest.resting(62.0), "not for longer than the most"
    assert rest.spent, "until it has worked again"


def test_a_success_forgives_everything() -> None:
    rest = Rest(after=1, first_s=10, most_s=30)
    rest.failed(0.0)
    rest.failed(10.0)
    rest.well()
    assert not rest.spent
    rest.failed(50.0)
    assert rest.resting(59.9)
    assert not rest.resting(60.0)


def test_given_up_it_rests_for_good() -> None:
    rest = Rest(after=5, first_s=10, most_s=30)
    rest.give_up()
    assert rest.spent
    assert rest.resting(1e12)


@given(st.integers(1, 5000))
def test_however_often_it_fails_it_is_tried_again(failures: int) -> None:
    rest = Rest(after=5, first_s=15, most_s=60)
    for _ in range(failures):
        rest.failed(0.0)
    assert not rest.resting(60.0)
