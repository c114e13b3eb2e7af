"""When an engine backs off, and for how long."""

from __future__ import annotations

from pipeline.core.backoff import Backoff


def test_it_rests_after_some_errors_and_then_longer_and_longer() -> None:
    backoff = Backoff(after=3, first_s=10, most_s=30)
    for now_s in (0.0, 1.0):
        backoff.failed(now_s)
        assert not backoff.is_active(now_s)
        assert not backoff.is_exhausted
    backoff.failed(2.0)
    assert backoff.is_exhausted
    assert backoff.is_active(11.9)
    assert not backoff.is_active(12.0)
    backoff.failed(12.0)
    assert backoff.is_active(31.9)
    assert not backoff.is_active(32.0)
    backoff.failed(32.0)
    assert not backoff.is_active(62.0), "not for longer than the most"
    assert backoff.is_exhausted, "until it has worked again"


def test_a_success_forgives_everything() -> None:
    backoff = Backoff(after=1, first_s=10, most_s=30)
    backoff.failed(0.0)
    backoff.failed(10.0)
    backoff.succeeded()
    assert not backoff.is_exhausted
    backoff.failed(50.0)
    assert backoff.is_active(59.9)
    assert not backoff.is_active(60.0)


def test_given_up_it_rests_for_good() -> None:
    backoff = Backoff(after=5, first_s=10, most_s=30)
    backoff.give_up()
    assert backoff.is_exhausted
    assert backoff.is_active(1e12)


def test_however_often_it_fails_it_is_tried_again() -> None:
    backoff = Backoff(after=5, first_s=15, most_s=60)
    for _ in range(5000):
        backoff.failed(0.0)
    assert not backoff.is_active(60.0)
