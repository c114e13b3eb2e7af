"""The quiet hour, by the church's clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import ProtocolError
from pipeline.daemon.context.new_day import QUIET_S, NewDay, ask_for_new_session, last_strike
from pipeline.daemon.context.state import DaemonState

CHICAGO = ZoneInfo("America/Chicago")


def at(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=CHICAGO)


@pytest.mark.parametrize(
    ("now", "strike"),
    [
        (at(22, 4), at(22, 4)),
        (at(22, 3, 59), at(21, 4)),
        (at(22, 23, 59), at(22, 4)),
        (at(1, 0, 30), at(31, 4, month=10)),
    ],
)
def test_the_last_strike_is_today_s_or_yesterday_s(now: datetime, strike: datetime) -> None:
    assert last_strike("04:00", now) == strike


def due(started: datetime, now: datetime, new_at: str = "04:00", quiet_s: float = QUIET_S) -> bool:
    """Return whether it is due after `quiet_s` of silence that end at `now`."""
    day = NewDay(started)
    assert not day.is_due(new_at, now, 1000.0, is_quiet=True), "the silence has just begun"
    return day.is_due(new_at, now, 1000.0 + quiet_s, is_quiet=True)


def test_a_session_of_yesterday_ends_at_the_hour_and_not_before() -> None:
    assert not due(at(21, 9), at(22, 3, 59))
    assert due(at(21, 9), at(22, 4))
    assert due(at(21, 9), at(22, 10)), "a machine that was asleep at four"


def test_a_session_that_began_behind_the_hour_goes_on_until_the_next() -> None:
    assert not due(at(22, 4, 1), at(22, 23))
    assert due(at(22, 4, 1), at(23, 4))


def test_without_an_hour_it_never_ends() -> None:
    assert not due(at(1, 9), at(22, 4), new_at="")


def test_who_speaks_at_the_hour_is_not_cut_off() -> None:
    day = NewDay(at(21, 9))
    now = at(22, 4)
    for second in range(100):
        assert not day.is_due("04:00", now, float(second), is_quiet=second % 50 > 0)
    assert not day.is_due("04:00", now, 50.0 + QUIET_S, is_quiet=True)
    assert day.is_due("04:00", now, 51.0 + QUIET_S, is_quiet=True)


def test_the_night_on_which_the_clock_is_set_back_has_one_strike() -> None:
    """1 November 2026 in Chicago: 01:30 comes twice."""
    first = datetime(2026, 11, 1, 1, 30, tzinfo=CHICAGO)
    second = first.replace(fold=1)
    assert due(at(31, 9, month=10), first, "01:30")
    assert not due(second.replace(minute=31), second.replace(hour=3), "01:30")


def test_a_new_session_is_asked_for_where_there_can_be_one() -> None:
    facts = DaemonState("live", 60.0, may_begin_anew=True)
    ask_for_new_session(facts)
    assert facts.is_new_session_wanted


@pytest.mark.parametrize("kept", ["paused", "blank", "off_record"])
def test_what_an_operator_has_set_is_not_forgotten_by_a_new_session(kept: str) -> None:
    facts = DaemonState("live", 60.0, may_begin_anew=True, **{kept: True})  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match="Go on first") as error:
        ask_for_new_session(facts)
    assert error.value.code == "not-now"
    assert not facts.is_new_session_wanted


def test_a_rehearsal_and_a_file_have_no_second_session() -> None:
    facts = DaemonState("dry-run", 60.0)
    with pytest.raises(ProtocolError, match="one session each"):
        ask_for_new_session(facts)
    assert not facts.is_new_session_wanted


@settings(deadline=None)
@given(
    jumps=st.lists(st.tuples(st.integers(-(10**9), 10**9), st.floats(0, 100)), max_size=20),
    new_at=st.sampled_from(["", "00:00", "04:00", "23:59"]),
)
def test_a_clock_that_jumps_ends_no_session_before_it_has_been_quiet(
    jumps: list[tuple[int, float]], new_at: str
) -> None:
    """The wall clock goes where it likes; the silence is measured by the one that cannot."""
    day, started, now_s = NewDay(at(21, 9)), at(21, 9), 0.0
    for seconds, passed_s in jumps:
        now_s += passed_s
        due = day.is_due(new_at, started + timedelta(seconds=seconds), now_s, is_quiet=True)
        assert not due or (new_at and seconds > 0 and now_s - jumps[0][1] >= QUIET_S)
