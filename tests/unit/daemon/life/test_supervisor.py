"""The supervisor: engines that hang, watchdog messages for systemd, its status line."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.daemon.life.supervisor import QUIET_S, NewDay
from tests.support.daemon import SCRIPT, Service, until
from tests.support.fakes import FakeRecognizer, FakeSource, FakeTranslator, pcm_of
from tests.support.patience import reached


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Yield a socket like systemd's; a watchdog message is due every 0.1 s."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "300000")
        yield made


def told(systemd: socket.socket) -> list[str]:
    """Return every message that systemd has received so far."""
    systemd.setblocking(False)
    messages = []
    while True:
        try:
            messages.append(systemd.recv(10_000).decode())
        except BlockingIOError:
            return messages


def told_until_the_end(systemd: socket.socket) -> list[str]:
    """Return the messages that systemd receives, up to STOPPING=1."""
    systemd.settimeout(20)
    messages: list[str] = []
    while "STOPPING=1" not in messages:
        messages.append(systemd.recv(10_000).decode())
    return messages


async def no_sign_of_life_comes(systemd: socket.socket) -> None:
    """Wait for longer than the patched limit of 0.5 s and a round of the supervisor."""
    await asyncio.sleep(1.0)
    told(systemd)
    await asyncio.sleep(0.6)
    assert "WATCHDOG=1" not in told(systemd)


@pytest.mark.slow
def test_systemd_hears_ready_signs_of_life_and_the_end(
    tmp_path: Path, systemd: socket.socket
) -> None:
    messages: list[str] = []
    # Read during the run: a socket keeps ten messages (net.unix.max_dgram_qlen), and drops more.
    reader = threading.Thread(target=lambda: messages.extend(told_until_the_end(systemd)))
    reader.start()
    source = FakeSource(pcm_of(SCRIPT[:2], 7.0), speed=5)
    assert Service(tmp_path / "sessions", source=source, fast=False).run() == 0
    reader.join(20)
    assert messages.index("READY=1") < messages.index("STOPPING=1")
    assert messages.count("WATCHDOG=1") >= 3
    assert any(m.startswith("STATUS=starting") for m in messages)


@pytest.mark.slow
def test_a_listener_that_hangs_gets_no_sign_of_life(
    tmp_path: Path, systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.workers.group.SILENT_S", 0.5)

    async def wait(service: Service) -> None:
        await no_sign_of_life_comes(systemd)
        service.app.stop()

    source = FakeSource(pcm_of(SCRIPT, 2.0), hold=True)
    assert Service(tmp_path / "sessions", source=source, fast=False).run(wait) == 0


@pytest.mark.slow
def test_a_transcriber_that_hangs_gets_no_sign_of_life(
    tmp_path: Path, systemd: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.workers.group.STUCK_S", 0.5)
    hung, go_on = threading.Event(), threading.Event()

    def hang(_: int) -> bool:
        hung.set()
        return not go_on.wait(60)

    async def wait(service: Service) -> None:
        await reached(hung.is_set)
        await no_sign_of_life_comes(systemd)
        go_on.set()
        await reached(lambda: "WATCHDOG=1" in told(systemd))
        service.app.stop()

    source = FakeSource(pcm_of(SCRIPT, 3.0), hold=True)
    recognizer = FakeRecognizer(SCRIPT, fails=hang)
    service = Service(tmp_path / "sessions", source=source, recognizer=recognizer, fast=False)
    assert service.run(wait) == 0


@pytest.mark.slow
def test_it_goes_on_looking_after_a_final_translator_that_hung(tmp_path: Path) -> None:
    hang = threading.Event()
    seen = []

    async def wait(service: Service) -> None:
        async with service.connect() as socket:
            await until(socket, lambda m: "hangs" in m.get("reason", ""))
            hang.set()
            seen.append(await until(socket, lambda m: m.get("reason") == ""))

    service = Service(
        tmp_path,
        source=FakeSource(pcm_of(SCRIPT[:3], 9.0), speed=10, waits=[(6.9, hang)]),
        final=FakeTranslator("gemma", hang=hang),
        fast=False,
        flags={"translate.final.deadline_s": 0.2},
    )
    assert service.run(wait) == 0
    assert seen, "its return is shown"


# The quiet hour, by the church's clock


CHICAGO = ZoneInfo("America/Chicago")


def at(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=CHICAGO)


def due(started: datetime, now: datetime, new_at: str = "04:00", quiet_s: float = QUIET_S) -> bool:
    """Return whether a new day is due after `quiet_s` of silence that end at `now`."""
    day = NewDay(started)
    assert not day.is_due(new_at, now, 1000.0, is_quiet=True), "the silence has just begun"
    return day.is_due(new_at, now, 1000.0 + quiet_s, is_quiet=True)


def test_a_session_of_yesterday_ends_at_the_hour_and_not_before() -> None:
    assert not due(at(21, 9), at(22, 3, 59))
    assert due(at(21, 9), at(22, 4))
    assert due(at(21, 9), at(22, 10)), "a machine that was asleep at four"
    assert due(at(31, 3, month=10), at(1, 0, 30)), "the last strike was yesterday's"
    assert not due(at(31, 9, month=10), at(1, 0, 30))


def test_a_session_that_began_behind_the_hour_goes_on_until_the_next() -> None:
    assert not due(at(22, 4, 1), at(22, 23))
    assert due(at(22, 4, 1), at(23, 4))
    assert not due(at(1, 9), at(22, 4), new_at=""), "without an hour it never ends"


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


@settings(deadline=None)
@given(
    jumps=st.lists(st.tuples(st.integers(-(10**9), 10**9), st.floats(0, 100)), max_size=20),
    new_at=st.sampled_from(["", "00:00", "04:00", "23:59"]),
)
def test_a_clock_that_jumps_ends_no_session_before_it_has_been_quiet(
    jumps: list[tuple[int, float]], new_at: str
) -> None:
    """The wall clock may jump; a clock that cannot jump measures the silence."""
    day, started, now_s = NewDay(at(21, 9)), at(21, 9), 0.0
    for seconds, passed_s in jumps:
        now_s += passed_s
        due = day.is_due(new_at, started + timedelta(seconds=seconds), now_s, is_quiet=True)
        assert not due or (new_at and seconds > 0 and now_s - jumps[0][1] >= QUIET_S)
