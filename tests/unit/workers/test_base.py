"""How long an engine has worked since a given time."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from pipeline.workers.base import WorkLog


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_only_the_time_since_counts_and_work_that_goes_on_as_well(clock: list[float]) -> None:
    log = WorkLog()
    for begin_s, end_s in ((10.0, 12.0), (20.0, 25.0)):
        clock[0] = begin_s
        with log.working():
            clock[0] = end_s
    assert log.since(0.0, 30.0) == 7.0
    assert log.since(11.0, 30.0) == 6.0
    assert log.since(26.0, 30.0) == 0.0
    assert log.since(float("inf"), 30.0) == 0.0
    clock[0] = 40.0
    with log.working():
        assert log.since(20.0, 43.0) == 8.0
    clock[0] = 50.0
    with suppress(ValueError), log.working():
        clock[0] = 51.0
        raise ValueError
    assert log.since(45.0, 60.0) == 1.0, "what ends with an error was work as well"
