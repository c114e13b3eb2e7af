"""The desk: one state out of many facts, and one record per utterance, whatever the order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import ProtocolError
from pipeline.core.types import (
    Fault,
    Level,
    SourceChanged,
)
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Rung
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture, caption, transcript, utterance


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[CoordinatorFixture]:
    made = CoordinatorFixture(tmp_path)
    yield made
    made.recorder.close(5)


def test_the_state_is_worked_out_of_the_facts_the_gravest_first(
    setting: CoordinatorFixture,
) -> None:
    coordinator = setting.coordinator

    def state() -> tuple[str, str]:
        return coordinator.state

    assert state() == ("starting", "")
    coordinator.begun = True
    assert state() == ("listening", "")
    coordinator.level(Level(-20, -10, clipped=False, speaking=True))
    assert state() == ("speech", "")
    setting.ladder.rung = Rung.NO_PARTIALS
    assert state() == ("speech", "behind: no partial captions")
    setting.ladder.rung = Rung.SOURCE_CAPTIONS
    assert state()[0] == "behind"
    coordinator.source(SourceChanged(lost=True, message="unplugged"))
    assert state() == ("no-audio", "unplugged")
    coordinator.controls.paused = True
    assert state() == ("paused", "paused by the operator; unplugged")
    coordinator.controls.blank = True
    assert state() == ("blank", "blanked and paused by the operator; unplugged")
    coordinator.controls.paused = False
    assert state() == ("blank", "blanked by the operator; unplugged")
    coordinator.source(SourceChanged(lost=False, message="is back"))
    assert state() == ("blank", "blanked by the operator")
    coordinator.broken = "transcribe: a bug"
    assert state() == ("fault", "transcribe: a bug")
    coordinator.ended = True
    assert state()[0] == "ended"


def test_an_engine_set_aside_is_the_reason(setting: CoordinatorFixture) -> None:
    setting.coordinator.begun = True
    setting.coordinator.degraded = "the final translator hangs"
    assert setting.coordinator.state == ("listening", "the final translator hangs")


def test_a_disk_that_cannot_be_written_is_a_reason_whatever_the_state(
    setting: CoordinatorFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = setting.coordinator
    coordinator.begun = True
    coordinator.degraded = "the final translator hangs"
    monkeypatch.setattr(SessionRecorder, "setback", "the disk is full")
    assert coordinator.state == ("listening", "the final translator hangs; the disk is full")
    coordinator.controls.paused = True
    assert coordinator.state == ("paused", "paused by the operator; the disk is full")
    coordinator.controls.off_record = True
    assert coordinator.state == ("blank", "off the record; the disk is full")


def test_lag_is_the_age_of_the_oldest_without_a_final(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    assert coordinator.lag_s(9.0) == 0.0
    coordinator.closed(utterance(1))
    coordinator.closed(replace(utterance(2), closed_s=3.0))
    assert (coordinator.unfinished, coordinator.lag_s(9.0)) == (2, 8.0)
    assert (coordinator.lag_s(9.0, but=1), coordinator.lag_s(9.0, but=2)) == (6.0, 8.0)
    coordinator.show(caption("gracia", final=True, id=1))
    assert (coordinator.unfinished, coordinator.lag_s(9.0)) == (1, 6.0)
    coordinator.filtered(replace(transcript(id=2), filtered="no-speech"))
    assert (coordinator.unfinished, coordinator.lag_s(9.0)) == (0, 0.0)


def test_one_record_per_utterance_with_all_that_was_shown(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    coordinator.closed(utterance())
    coordinator.show(caption("graci", final=False))
    coordinator.show(caption("gracia", final=False))
    coordinator.show(caption("la gracia", final=True))
    coordinator.show(caption("tarde", final=True))  # an engine that hung comes back
    coordinator.show(caption("tarde", final=False))
    (record,) = setting.written()
    assert (record["updates"], record["partial"]["text"]) == (3, "graci")
    assert record["final"]["text"] == "la gracia"
    assert record["normalized_erasure"] > 0
    (line,) = setting.written("captions.jsonl")
    assert line["target"]["text"] == "la gracia"
    assert coordinator.unfinished == 0


def test_what_was_shown_of_a_filtered_text_is_taken_back(setting: CoordinatorFixture) -> None:
    setting.coordinator.show(caption("gracias por ver", final=False))
    setting.coordinator.filtered(
        replace(transcript("thanks for watching"), filtered="stock-phrase")
    )
    assert setting.board.snapshot().messages == ()
    (record,) = setting.written()
    assert (record["filtered"], record["updates"]) == ("stock-phrase", 1)


def test_faults_and_sources_are_recorded_and_counted(setting: CoordinatorFixture) -> None:
    setting.coordinator.fault(Fault("translate", "final-failed", "It failed."))
    setting.coordinator.source(SourceChanged(lost=True, message="unplugged"))
    setting.coordinator.source(SourceChanged(lost=False, message="back"))
    events = setting.written()
    assert [e["event"] for e in events] == ["fault", "source", "source"]
    assert b'stark_engine_errors_total{stage="translate"} 1.0' in setting.metrics.exposition()


def test_operator_commands(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    coordinator.begun = True
    coordinator.show(caption("gracia", final=True))
    for name, state in [
        ("pause", "paused"),
        ("resume", "listening"),
        ("blank", "blank"),
        ("unblank", "listening"),
    ]:
        coordinator.command(command(name))
        assert coordinator.state[0] == state
    coordinator.command(command("edit", 1, "la gracia"))
    assert setting.board.snapshot().messages[0].target.text == "la gracia"
    with pytest.raises(ProtocolError, match="unknown-caption"):
        coordinator.command(command("hide", 99))
    coordinator.command(command("undo"))
    assert setting.board.snapshot().messages[0].target.text == "gracia"
    events = [e for e in setting.written() if e["type"] == "event"]
    names = ["pause", "resume", "blank", "unblank", "edit", "undo"]
    assert [e["name"] for e in events] == names
