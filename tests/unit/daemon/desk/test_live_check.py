"""A check at the desk: when it may begin, what it reports, and that it never ends a service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.check.audio import Heard
from pipeline.check.result import Check, Passed
from pipeline.core.errors import AudioError, ProtocolError
from pipeline.core.reports import Level
from pipeline.daemon.desk.live_check import LiveCheck, MakeChecks, loudness
from tests.support.coordinator import CoordinatorFixture, utterance
from tests.support.hub import in_loop
from tests.support.patience import reached


@pytest.fixture
def setting(tmp_path: Path) -> CoordinatorFixture:
    made = CoordinatorFixture(tmp_path, start=False)
    made.facts.has_begun = True
    return made


def live_check(setting: CoordinatorFixture, make: MakeChecks) -> LiveCheck:
    return LiveCheck(setting.context, setting.coordinator, make)


@in_loop
async def test_a_check_is_kept_and_another_one_waits_for_its_end(
    setting: CoordinatorFixture,
) -> None:
    assert setting.live_check.last() is None
    setting.live_check.start()
    with pytest.raises(ProtocolError, match="running already"):
        setting.live_check.start()
    await reached(setting.live_check.last)
    kept = setting.live_check.last()
    assert kept is not None
    assert [result.test for result in kept.results] == ["dictionary", "sessions", "disk"]
    assert kept.differs == ()


@pytest.mark.parametrize("why", ["loaded", "speaking", "speaking: unfinished"])
def test_a_check_disturbs_nobody(why: str, setting: CoordinatorFixture) -> None:
    setting.facts.has_begun = why != "loaded"
    setting.facts.is_speaking = why == "speaking"
    if "unfinished" in why:
        setting.coordinator.on_closed(utterance(1))
    with pytest.raises(ProtocolError, match=why.partition(":")[0]) as refused:
        setting.live_check.start()
    assert refused.value.code == "not-now"


@in_loop
async def test_a_mistake_in_a_check_ends_that_check_only(setting: CoordinatorFixture) -> None:
    def broken() -> Passed:
        raise ZeroDivisionError("of ours")

    tried = live_check(setting, lambda *_: [Check("broken", "Breaking", broken)])
    for _ in range(2):
        tried.start()
        await reached(lambda: not tried._is_running)
    assert tried.last() is None


def test_levels_say_how_loud_it_was_and_whether_somebody_spoke() -> None:
    levels = [Level(-60, -50, False, False), Level(-21, -9, False, True), Level(-3, 0, True, True)]
    heard = loudness([*levels, levels[0]], 4.0)
    assert heard == Heard(seconds=4.0, loudest_dbfs=-3, clipped_share=0.25, speech_s=2.0)
    assert loudness([], 4.0).loudest_dbfs < -100


@pytest.mark.parametrize(
    ("fact", "value", "code"),
    [
        ("paused", True, "audio-paused"),
        ("off_record", True, "audio-paused"),
        ("source_lost", "USB went away.", "audio-lost"),
    ],
)
def test_a_microphone_that_is_not_heard_is_red(
    fact: str, value: object, code: str, setting: CoordinatorFixture
) -> None:
    setattr(setting.facts, fact, value)
    with pytest.raises(AudioError) as caught:
        setting.live_check._listen(0.01)
    assert caught.value.code == code
    assert caught.value.fix


@in_loop
async def test_a_service_that_ends_takes_its_check_along(setting: CoordinatorFixture) -> None:
    began, ended = threading.Event(), threading.Event()

    def make(_: object, listen: Callable[[float], Heard]) -> list[Check]:
        def level() -> Passed:
            began.set()
            listen(600)
            ended.set()
            return Passed("Heard.")

        return [Check("level", "Listening", level)]

    tried = live_check(setting, make)
    tried.start()
    await reached(began.is_set)
    tried.stop()
    await reached(ended.is_set)
    assert setting.live_check.last() is None, "half a check says nothing"


def test_a_level_that_comes_as_the_check_stops_listening_is_left_out(
    setting: CoordinatorFixture,
) -> None:
    class Stopping(LiveCheck):
        """The check's thread stops listening between two reads."""

        _reads = 0

        @property
        def _levels(self) -> list[Level] | None:
            self._reads += 1
            return [] if self._reads == 1 else None

        @_levels.setter
        def _levels(self, levels: list[Level] | None) -> None:
            pass

    check = Stopping(setting.context, setting.coordinator, lambda *_: [])
    check.on_level(Level(-20.0, -10.0, clipped=False, speaking=True))
