"""One state derived from many facts."""

from __future__ import annotations

from typing import cast

import pytest

from pipeline.captions.sink import Sink
from pipeline.config.schema import Settings
from pipeline.core.reports import Level, SongChanged, SourceChanged
from pipeline.core.types import State
from pipeline.daemon.context.state import DaemonState, StateAnnouncer
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation, Waits
from tests.support.coordinator import CoordinatorFixture


def test_the_state_is_worked_out_of_the_facts_the_gravest_first(
    setting: CoordinatorFixture,
) -> None:
    facts, coordinator = setting.facts, setting.coordinator
    assert setting.state == ("starting", "")
    facts.blank = True  # set before a restart: a dark screen stays dark
    assert setting.state == ("blank", "blanked by the operator")
    facts.blank = False
    facts.has_begun = True
    assert setting.state == ("listening", "")
    coordinator.on_level(Level(-20, -10, clipped=False, speaking=True))
    assert setting.state == ("speech", "")
    setting.context.degradation.observe(Waits(recognizer_s=5.0), 0.0)
    assert setting.state == ("speech", "behind: no partial captions (the recognizer is late)")
    facts.degraded_reason = "the recognizer was killed"
    assert setting.state[1].endswith("is late); the recognizer was killed")
    setting.context.degradation.observe(Waits(quick_s=13.0), 0.0)
    assert setting.state[0] == "behind"
    coordinator.on_source(SourceChanged(lost=True, message="unplugged"))
    assert setting.state == ("no-audio", "unplugged")
    coordinator.on_source(SourceChanged(lost=True, message="zeros", muted=True))
    assert setting.state == ("muted", "zeros")
    coordinator.on_source(SourceChanged(lost=True, message="unplugged"))
    assert setting.state == ("no-audio", "unplugged")
    facts.paused = True
    assert setting.state == ("paused", "paused by the operator; unplugged")
    facts.blank = True
    assert setting.state == ("blank", "blanked and paused by the operator; unplugged")
    facts.paused = False
    assert setting.state == ("blank", "blanked by the operator; unplugged")
    coordinator.on_source(SourceChanged(lost=False, message="is back"))
    assert setting.state == ("blank", "blanked by the operator")
    facts.broken = "transcribe: a bug"
    assert setting.state == ("fault", "transcribe: a bug")
    facts.has_ended = True
    assert setting.state[0] == "ended"


def test_song_is_a_state_with_a_reason_and_an_event(setting: CoordinatorFixture) -> None:
    facts, coordinator = setting.facts, setting.coordinator
    facts.has_begun = True
    coordinator.on_song(SongChanged(held=True, by="detector", from_s=5.0, to_s=10.0))
    assert setting.state == ("song", "captions go on by themselves when somebody speaks")
    facts.song_control = "hold"
    assert setting.state == ("song", "held by the operator")
    facts.paused = True
    assert setting.state[0] == "paused"
    facts.paused = False
    coordinator.on_song(SongChanged(held=False, by="operator", from_s=5.0, to_s=65.0))
    assert setting.state[0] == "listening"
    events = setting.events("song")
    assert [(each["held"], each["from_s"], each["to_s"]) for each in events] == [
        (True, 5.0, 10.0),
        (False, 5.0, 65.0),
    ]


def test_a_disk_that_cannot_be_written_is_a_reason_whatever_the_state(
    setting: CoordinatorFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = setting.facts
    facts.has_begun = True
    facts.degraded_reason = "the final translator hangs"
    monkeypatch.setattr(SessionRecorder, "degraded_reason", "the disk is full")
    assert setting.state == ("listening", "the final translator hangs; the disk is full")
    facts.paused = True
    assert setting.state == ("paused", "paused by the operator; the disk is full")
    facts.off_record = True
    assert setting.state == ("blank", "off the record; the disk is full")


def test_what_is_remembered_as_told_is_what_was_told() -> None:
    """The record's thread changes the disk's state, even while a state is being announced."""

    class Record:
        purging = False
        _troubles = iter(["full", "", "full"])

        @property
        def degraded_reason(self) -> str:
            return next(self._troubles, "")

    class Heard(Sink):
        told: tuple[State, str] = ("ended", "")

        def on_state(self, state: State, reason: str) -> None:
            self.told = state, reason

    heard = Heard()
    facts = DaemonState("live", Settings(), has_begun=True)
    announcer = StateAnnouncer(facts, Degradation(), cast("SessionRecorder", Record()), [heard])
    for _ in range(4):
        announcer.announce()
    assert heard.told == announcer.state == ("listening", "")
