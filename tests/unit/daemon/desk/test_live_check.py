"""A check at the desk: when it may begin, what it reports, and that it never ends a service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.check.audio import Heard
from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.errors import AudioError, ProtocolError
from pipeline.core.reports import Level
from pipeline.daemon.desk.live_check import LiveCheck, MakeChecks, loudness
from tests.support.coordinator import CoordinatorFixture, utterance
from tests.support.patience import reached


@pytest.fixture
def setting(tmp_path: Path) -> CoordinatorFixture:
    made = CoordinatorFixture(tmp_path, start=False)
    made.facts.has_begun = True
    return made


def live_check(setting: CoordinatorFixture, make: MakeChecks) -> LiveCheck:
    return LiveCheck(setting.context, setting.coordinator, Settings, make)


def test_a_check_is_kept_and_another_one_waits_for_its_end(setting: CoordinatorFixture) -> None:
    async def check() -> None:
        assert setting.live_check.last() is None
        setting.live_check.start()
        with pytest.raises(ProtocolError, match="running already"):
            setting.live_check.start()
        await reached(setting.live_check.last)

    asyncio.run(check())
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


def test_a_mistake_in_a_check_ends_that_check_only(setting: CoordinatorFixture) -> None:
    def broken() -> Passed:
        raise ZeroDivisionError("of ours")

    tried = live_check(setting, lambda *_: [Check("broken", "Breaking", broken)])

    async def twice() -> None:
        for _ in range(2):  # the second check begins once the first one is over
            await reached(lambda: began(tried))

    asyncio.run(twice())
    assert tried.last() is None


def began(tried: LiveCheck) -> bool:
    try:
        tried.start()
    except ProtocolError:
        return False
    return True


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
    caught: list[AudioError] = []

    def make(_: object, listen: Callable[[float], Heard]) -> list[Check]:
        def level() -> Passed:
            try:
                listen(0.01)
            except AudioError as error:
                caught.append(error)
                raise
            raise AssertionError("it was heard")

        return [Check("level", "Listening", level)]

    tried = live_check(setting, make)

    async def check() -> None:
        tried.start()
        await reached(tried.last)

    asyncio.run(check())
    assert [error.code for error in caught] == [code]
    assert caught[0].fix


def test_a_service_that_ends_takes_its_check_along(setting: CoordinatorFixture) -> None:
    began = asyncio.Event()

    async def check() -> None:
        loop = asyncio.get_running_loop()

        def make(_: object, listen: Callable[[float], Heard]) -> list[Check]:
            def level() -> Passed:
                loop.call_soon_threadsafe(began.set)
                listen(600)
                loop.call_soon_threadsafe(ended.set)
                return Passed("Heard.")

            return [Check("level", "Listening", level)]

        ended = asyncio.Event()
        tried = live_check(setting, make)
        tried.start()
        await asyncio.wait_for(began.wait(), 30)
        tried.stop()
        await asyncio.wait_for(ended.wait(), 30)

    asyncio.run(check())
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

    check = Stopping(setting.context, setting.coordinator, Settings, lambda *_: [])
    check.on_level(Level(-20.0, -10.0, clipped=False, speaking=True))
