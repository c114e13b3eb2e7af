"""One state derived from many facts, and one record per utterance, in any order."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.core.reports import Fault, SourceChanged
from pipeline.core.types import Caption, Cause, Utterance
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture, caption, transcript, utterance


def test_lag_is_the_age_of_the_oldest_without_a_final(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    assert coordinator.tracks.lag_s(9.0) == 0.0
    coordinator.on_closed(utterance(1))
    coordinator.on_closed(replace(utterance(2), closed_s=3.0))
    assert (coordinator.tracks.unfinished, coordinator.tracks.lag_s(9.0)) == (2, 8.0)
    coordinator.show(caption("gracia", final=True, id=1))
    assert (coordinator.tracks.unfinished, coordinator.tracks.lag_s(9.0)) == (1, 6.0)
    coordinator.on_filtered(replace(transcript(id=2), filtered="no-speech"))
    assert (coordinator.tracks.unfinished, coordinator.tracks.lag_s(9.0)) == (0, 0.0)


def test_one_record_per_utterance_with_all_that_was_shown(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    coordinator.on_closed(utterance())
    coordinator.show(caption("graci", final=False))
    coordinator.show(caption("gracia", final=False))
    coordinator.show(caption("la gracia", final=True))
    coordinator.show(caption("tarde", final=True))  # an engine that hung answers late
    coordinator.show(caption("tarde", final=False))
    (record,) = setting.written()
    assert (record["updates"], record["partial"]["text"]) == (3, "graci")
    assert record["final"]["text"] == "la gracia"
    assert record["normalized_erasure"] > 0
    (line,) = setting.written("captions.jsonl")
    assert line["target"]["text"] == "la gracia"
    assert coordinator.tracks.unfinished == 0


def test_an_edit_of_an_open_caption_stands_and_leaves_nothing_unfinished(
    setting: CoordinatorFixture,
) -> None:
    setting.coordinator.on_closed(utterance())
    setting.coordinator.show(caption("graci", final=False))
    setting.commands.obey(command("edit", 1, "Corregido"))
    setting.coordinator.show(caption("la gracia", final=True))
    assert setting.coordinator.tracks.unfinished == 0
    (record,) = [each for each in setting.written() if each["type"] == "utterance"]
    assert record["final"]["text"] == "la gracia"
    assert [m["target"]["text"] for m in setting.written("captions.jsonl")] == ["Corregido"]


def test_a_partial_that_comes_after_its_final_was_filtered_is_not_shown(
    setting: CoordinatorFixture,
) -> None:
    # An extra language's translator may still be at the partial when the final is filtered.
    filtered = spoken(2, "silence")
    setting.coordinator.on_closed(filtered)
    setting.coordinator.on_filtered(
        replace(transcript("thanks for watching"), utterance=filtered, filtered="stock-phrase")
    )
    setting.coordinator.on_settled(filtered.id)
    setting.coordinator.show(translated(spoken(1, "partial"), "gracias por ver", final=False))
    assert setting.board.snapshot().messages == ()
    assert setting.screen.settled == []


def test_faults_and_sources_are_recorded_and_counted(setting: CoordinatorFixture) -> None:
    setting.coordinator.on_fault(Fault("translate", "final-failed", "It failed."))
    setting.coordinator.on_source(SourceChanged(lost=True, message="unplugged"))
    setting.coordinator.on_source(SourceChanged(lost=False, message="back"))
    events = setting.written()
    assert [e["event"] for e in events] == ["fault", "source", "source"]
    assert (
        b'stark_engine_errors_total{stage="translate"} 1.0' in setting.context.metrics.exposition()
    )


def spoken(revision: int, cause: Cause, **changes: Any) -> Utterance:
    is_final = cause == "silence"
    return replace(
        utterance(), revision=revision, cause=cause, final=is_final, can_resume=is_final, **changes
    )


def translated(of: Utterance, text: str, *, final: bool = True) -> Caption:
    made = caption(text, final=final)
    return replace(made, transcript=replace(made.transcript, utterance=of))


def test_what_was_prepared_is_the_final_as_soon_as_the_utterance_is_closed(
    setting: CoordinatorFixture,
) -> None:
    coordinator, board = setting.coordinator, setting.board
    coordinator.show(translated(spoken(3, "eager"), "gracia", final=False))
    coordinator.show(translated(spoken(3, "eager"), "La gracia."))
    (message,) = board.snapshot().messages
    assert (message.final, message.target.text) == (False, "gracia")
    coordinator.on_closed(spoken(4, "silence"))
    (message,) = board.snapshot().messages
    assert (message.final, message.target.text) == (True, "La gracia.")
    assert coordinator.tracks.unfinished == 0
    coordinator.on_settled(1)
    (record,) = setting.written()
    assert (record["eager"], record["cause"], record["partial"]["text"]) == (
        *(True, "silence"), "gracia",
    )  # fmt: skip
    coordinator.show(translated(spoken(3, "eager"), "tarde"))  # an engine that hung answers late
    assert coordinator.tracks.ids_since(3600.0) == (), "off the record this caption would go too"


def test_a_final_that_speech_returns_to_is_reopened_and_recorded_once(
    setting: CoordinatorFixture,
) -> None:
    coordinator, board = setting.coordinator, setting.board
    coordinator.on_closed(spoken(4, "silence"))
    coordinator.show(translated(spoken(4, "silence"), "No preguntes."))
    reopened = coordinator.on_resumed(spoken(5, "resumed"))
    (message,) = board.snapshot().messages
    assert reopened == message
    assert (message.final, message.status) == (False, "resumed")
    coordinator.show(translated(spoken(4, "silence"), "tarde"))  # an engine that hung answers late
    assert board.snapshot().messages == (message,)
    coordinator.on_closed(spoken(6, "silence"))
    assert coordinator.tracks.unfinished == 1
    assert coordinator.show(translated(spoken(6, "silence"), "No preguntes qué.")) is None
    settled = coordinator.on_settled(1)
    assert settled is not None
    assert settled.text == "No preguntes qué."
    assert coordinator.on_settled(1) is None
    (record,) = setting.written()
    assert (record["reopened"], record["final"]["text"]) == (1, "No preguntes qué.")
    journal = [line["target"]["text"] for line in setting.written("captions.jsonl")]
    assert journal == ["No preguntes.", "No preguntes qué."]
    text = (setting.recorder.folder / "transcript.es.txt").read_text()
    assert text == "No preguntes qué.\n"


def test_at_the_end_what_is_out_is_recorded(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    coordinator.on_closed(spoken(4, "silence"))
    coordinator.show(translated(spoken(4, "silence"), "Amén."))
    coordinator.on_closed(replace(spoken(1, "silence"), id=2))
    coordinator.settle()
    assert coordinator.tracks.unfinished == 1, "the other has no final yet"
    (record,) = setting.written()
    assert record["id"] == 1


def test_a_filtered_text_that_speech_returns_to_gets_another_chance(
    setting: CoordinatorFixture,
) -> None:
    coordinator, board = setting.coordinator, setting.board
    coordinator.show(translated(spoken(2, "partial"), "eh", final=False))
    coordinator.on_closed(spoken(4, "silence"))
    coordinator.on_filtered(
        replace(transcript("hm"), utterance=spoken(4, "silence"), filtered="no-speech")
    )
    assert board.snapshot().messages == ()
    coordinator.on_resumed(spoken(5, "resumed"))
    coordinator.on_closed(spoken(6, "silence"))
    coordinator.show(translated(spoken(6, "silence"), "Amén."))
    coordinator.on_settled(1)
    (message,) = board.snapshot().messages
    assert message.target.text == "Amén."
    (record,) = setting.written()
    assert (record["filtered"], record["reopened"]) == ("", 1)


@pytest.mark.parametrize("resumed", [False, True])
def test_off_the_record_goes_what_may_still_be_resumed(
    setting: CoordinatorFixture, *, resumed: bool
) -> None:
    """A resumed utterance has no final; an unsettled final goes by its time, as every final."""
    coordinator = setting.coordinator
    coordinator.on_closed(spoken(4, "silence"))
    coordinator.show(translated(spoken(4, "silence"), "secreto"))
    if resumed:
        coordinator.on_resumed(spoken(5, "resumed"))
    setting.hearing.heard_s = 2.0
    setting.commands.obey(command("off-record"))
    assert setting.screen.settled == [], "streams can take nothing back"
    coordinator.on_closed(spoken(6, "silence"))
    coordinator.show(translated(spoken(6, "silence"), "secreto y más"))
    coordinator.on_settled(1)
    assert setting.board.snapshot().messages == ()
    assert coordinator.tracks.unfinished == 0
    assert {each["event"] for each in setting.written()} == {"command", "off-record"}
    assert setting.written("captions.jsonl") == []
    assert (setting.recorder.folder / "transcript.es.txt").read_text() == ""


def test_what_settles_is_told_as_the_board_has_it_with_the_time_it_was_said(
    setting: CoordinatorFixture,
) -> None:
    coordinator, heard = setting.coordinator, spoken(4, "silence", spoken_s=time.monotonic() - 5)
    coordinator.on_closed(heard)
    coordinator.show(translated(heard, "máquina"))
    setting.commands.obey(command("edit", 1, "operador"))
    assert setting.screen.settled == []
    coordinator.on_settled(1)
    ((message, spoken_utc),) = setting.screen.settled
    assert message.target.text == "operador"
    # The utterance is one second long; its last syllable was five seconds ago.
    assert 6 <= (datetime.now(UTC) - spoken_utc).total_seconds() < 30
