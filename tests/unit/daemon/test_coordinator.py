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
from pipeline.session.recorder import Recorder
from pipeline.workers.degradation import Rung
from tests.support.commands import command
from tests.support.coordinator import Setting, caption, transcript, utterance


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    made = Setting(tmp_path)
    yield made
    made.recorder.close(5)


def test_the_state_is_worked_out_of_the_facts_the_gravest_first(setting: Setting) -> None:
    desk = setting.desk

    def state() -> tuple[str, str]:
        return desk.state

    assert state() == ("starting", "")
    desk.begun = True
    assert state() == ("listening", "")
    desk.level(Level(-20, -10, clipped=False, speaking=True))
    assert state() == ("speech", "")
    setting.ladder.rung = Rung.NO_PARTIALS
    assert state() == ("speech", "behind: no partial captions")
    setting.ladder.rung = Rung.SOURCE_CAPTIONS
    assert state()[0] == "behind"
    desk.source(SourceChanged(lost=True, message="unplugged"))
    assert state() == ("no-audio", "unplugged")
    desk.controls.paused = True
    assert state() == ("paused", "paused by the operator; unplugged")
    desk.controls.blank = True
    assert state() == ("blank", "blanked and paused by the operator; unplugged")
    desk.controls.paused = False
    assert state() == ("blank", "blanked by the operator; unplugged")
    desk.source(SourceChanged(lost=False, message="is back"))
    assert state() == ("blank", "blanked by the operator")
    desk.broken = "transcribe: a bug"
    assert state() == ("fault", "transcribe: a bug")
    desk.ended = True
    assert state()[0] == "ended"


def test_an_engine_set_aside_is_the_reason(setting: Setting) -> None:
    setting.desk.begun = True
    setting.desk.degraded = "the final translator hangs"
    assert setting.desk.state == ("listening", "the final translator hangs")


def test_a_disk_that_cannot_be_written_is_a_reason_whatever_the_state(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = setting.desk
    desk.begun = True
    desk.degraded = "the final translator hangs"
    monkeypatch.setattr(Recorder, "setback", "the disk is full")
    assert desk.state == ("listening", "the final translator hangs; the disk is full")
    desk.controls.paused = True
    assert desk.state == ("paused", "paused by the operator; the disk is full")
    desk.controls.off_record = True
    assert desk.state == ("blank", "off the record; the disk is full")


def test_lag_is_the_age_of_the_oldest_without_a_final(setting: Setting) -> None:
    desk = setting.desk
    assert desk.lag_s(9.0) == 0.0
    desk.closed(utterance(1))
    desk.closed(replace(utterance(2), closed_s=3.0))
    assert (desk.unfinished, desk.lag_s(9.0)) == (2, 8.0)
    assert (desk.lag_s(9.0, but=1), desk.lag_s(9.0, but=2)) == (6.0, 8.0)
    desk.show(caption("gracia", final=True, id=1))
    assert (desk.unfinished, desk.lag_s(9.0)) == (1, 6.0)
    desk.filtered(replace(transcript(id=2), filtered="no-speech"))
    assert (desk.unfinished, desk.lag_s(9.0)) == (0, 0.0)


def test_one_record_per_utterance_with_all_that_was_shown(setting: Setting) -> None:
    desk = setting.desk
    desk.closed(utterance())
    desk.show(caption("graci", final=False))
    desk.show(caption("gracia", final=False))
    desk.show(caption("la gracia", final=True))
    desk.show(caption("tarde", final=True))  # an engine that hung comes back
    desk.show(caption("tarde", final=False))
    (record,) = setting.written()
    assert (record["updates"], record["partial"]["text"]) == (3, "graci")
    assert record["final"]["text"] == "la gracia"
    assert record["normalized_erasure"] > 0
    (line,) = setting.written("captions.jsonl")
    assert line["target"]["text"] == "la gracia"
    assert desk.unfinished == 0


def test_what_was_shown_of_a_filtered_text_is_taken_back(setting: Setting) -> None:
    setting.desk.show(caption("gracias por ver", final=False))
    setting.desk.filtered(replace(transcript("thanks for watching"), filtered="stock-phrase"))
    assert setting.board.snapshot().messages == ()
    (record,) = setting.written()
    assert (record["filtered"], record["updates"]) == ("stock-phrase", 1)


def test_faults_and_sources_are_recorded_and_counted(setting: Setting) -> None:
    setting.desk.fault(Fault("translate", "final-failed", "It failed."))
    setting.desk.source(SourceChanged(lost=True, message="unplugged"))
    setting.desk.source(SourceChanged(lost=False, message="back"))
    events = setting.written()
    assert [e["event"] for e in events] == ["fault", "source", "source"]
    assert b'stark_engine_errors_total{stage="translate"} 1.0' in setting.metrics.exposition()


def test_operator_commands(setting: Setting) -> None:
    desk = setting.desk
    desk.begun = True
    desk.show(caption("gracia", final=True))
    for name, state in [
        ("pause", "paused"),
        ("resume", "listening"),
        ("blank", "blank"),
        ("unblank", "listening"),
    ]:
        desk.command(command(name))
        assert desk.state[0] == state
    desk.command(command("edit", 1, "la gracia"))
    assert setting.board.snapshot().messages[0].target.text == "la gracia"
    with pytest.raises(ProtocolError, match="unknown-caption"):
        desk.command(command("hide", 99))
    desk.command(command("undo"))
    assert setting.board.snapshot().messages[0].target.text == "gracia"
    events = [e for e in setting.written() if e["type"] == "event"]
    names = ["pause", "resume", "blank", "unblank", "edit", "undo"]
    assert [e["name"] for e in events] == names
