"""Operators' commands against a real board, dictionary, recorder and hub."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError
from pipeline.protocol.codec import parse
from pipeline.protocol.commands import AddRuleCommand, SpokenCommand
from pipeline.protocol.messages import ConsoleMessage
from pipeline.session.reader import read_records
from pipeline.session.resume import Unfinished
from scripts.support.records import caption
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture
from tests.support.corrections import corrected
from tests.support.examples import examples
from tests.support.patience import PATIENCE_S, wait_for


class Setting(CoordinatorFixture):
    """Commands with everything real but a network."""

    def __init__(self, directory: Path, *, source: str | list[str] = "en") -> None:
        flags = {"translate.source": source, "dictionary.enabled": True}
        super().__init__(directory, flags, start=False)
        self.dictionary = self.context.dictionary
        self.published = self.screen.messages

    def do(self, *names: str, **fields: Any) -> str:
        """Execute the named commands; return what undo would take back next."""
        for name in names:
            if (waiting := self.commands.obey(command(name, **fields))) is not None:
                asyncio.run(asyncio.wait_for(waiting, PATIENCE_S))
        return self.commands.console().undo

    def say(self, key: int, text: str = "gracia", *, final: bool = True) -> None:
        self.board.show(caption(key, text, text, final=final, engine="gemma"))

    def shown(self) -> list[str]:
        return [message.target.text for message in self.board.snapshot().messages]


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def test_what_another_operator_has_done_since_is_not_taken_back(setting: Setting) -> None:
    assert setting.do("pause", "blank") == "blank"
    with pytest.raises(ProtocolError, match="Not taken back: pause"):
        setting.do("undo", text="pause")
    assert (setting.facts.paused, setting.facts.blank) == (True, True)
    assert setting.do("undo", text="blank") == "pause"


def test_pause_and_blank_are_taken_back_in_order(setting: Setting) -> None:
    facts = setting.facts
    assert setting.do("pause") == "pause"
    assert setting.do("blank") == "blank"
    assert setting.do("undo") == "pause"
    assert (facts.paused, facts.blank) == (True, False)
    assert setting.do("undo") == ""
    assert (facts.paused, facts.blank) == (False, False)
    with pytest.raises(ProtocolError, match="nothing-to-undo"):
        setting.do("undo")
    names = [event["name"] for event in setting.written()]
    assert names == ["pause", "blank", "unblank", "undo", "resume", "undo"]


def test_what_operators_want_of_song_is_set_told_and_taken_back(setting: Setting) -> None:
    assert setting.commands.console().song == "auto"
    assert setting.do("song-hold") == "song-hold"
    assert setting.hearing.controls is setting.facts
    assert setting.commands.console().song == "hold"
    assert setting.do("song-hold", "song-caption") == "song-caption"
    assert setting.commands.done("song-caption").song == "caption"
    assert setting.do("undo") == "song-hold"
    assert setting.commands.console().song == "hold"
    assert setting.do("undo") == ""
    assert setting.commands.console().song == "auto"
    names = [event["name"] for event in setting.written()]
    done = "song-hold song-hold song-caption song-hold undo song-auto undo"
    assert names == done.split()


def test_one_of_several_spoken_languages_is_forced_and_let_go(tmp_path: Path) -> None:
    setting = Setting(tmp_path, source=["en", "es"])
    assert (setting.commands.console().spoken, setting.facts.forced_language) == (("en", "es"), "")
    setting.commands.obey(SpokenCommand(lang="es"))
    assert setting.commands.done("spoken").forced == setting.facts.forced_language == "es"
    with pytest.raises(ProtocolError, match="unknown-lang"):
        setting.commands.obey(SpokenCommand(lang="fr"))
    setting.commands.obey(SpokenCommand(lang=""))
    assert setting.facts.forced_language == ""


def test_a_forced_language_outlives_a_crash(tmp_path: Path) -> None:
    setting = Setting(tmp_path, source=["en", "es"])
    setting.commands.obey(SpokenCommand(lang="es"))
    setting.do("pause")
    setting.written()
    records = tuple(read_records(setting.recorder.folder))
    setting.facts.forced_language = ""
    setting.commands.restore(Unfinished(setting.recorder.folder, datetime.now(UTC), (), records))
    assert setting.facts.forced_language == "es"
    assert setting.facts.paused


def test_without_song_mode_there_is_no_command_for_it(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    setting.set("church.song", "off")
    assert setting.commands.console().song == "off"
    with pytest.raises(ProtocolError, match="song-off"):
        setting.do("song-hold")
    assert setting.facts.song_control == "auto"


def test_resume_takes_its_pause_back_and_repeats_are_nothing(setting: Setting) -> None:
    setting.say(1)
    setting.do("edit", id=1, text="la gracia")
    assert setting.do("pause", "pause", "blank") == "blank"
    assert setting.do("resume", "resume") == "blank"
    assert setting.do("unblank") == "edit of caption 1"
    assert setting.do("unblank", "undo") == ""
    assert setting.shown() == ["gracia"]


def test_edits_and_hidings_are_taken_back_for_every_screen(setting: Setting) -> None:
    setting.say(1)
    setting.say(2, "paz")
    assert setting.do("edit", id=1, text="la gracia") == "edit of caption 1"
    assert setting.do("edit", id=1, text="la gracia") == "edit of caption 1"  # changes nothing
    assert setting.do("hide", id=2) == "hiding of caption 2"
    assert setting.hearing.settled == 2, "each time what follows is a caption of its own"
    assert setting.shown() == ["la gracia"]
    assert setting.do("undo") == "edit of caption 1"
    assert setting.do("undo") == ""
    assert setting.shown() == ["gracia", "paz"]
    assert [message.seq for message in setting.published] == [3, 4, 5, 6]
    assert [message.revision for message in setting.published] == [2, 2, 3, 3]


@pytest.mark.parametrize("name", ["edit", "correct", "hide"])
def test_a_command_on_something_newer_than_the_operator_has_seen_is_refused(
    setting: Setting, name: str
) -> None:
    setting.say(1, "El profeta.")
    setting.board.reopen(1)
    setting.say(1, "El profeta dice: consolad a mi pueblo.")
    text = {"text": "El Profeta."} if name != "hide" else {}
    for seen in (1, 2):
        with pytest.raises(ProtocolError, match="caption-changed"):
            setting.do(name, id=1, revision=seen, **text)
    assert setting.shown() == ["El profeta dice: consolad a mi pueblo."]
    assert (setting.hearing.settled, setting.do()) == (0, ""), "nothing was done"
    assert setting.do(name, id=1, revision=3, **text) != ""


def test_one_that_another_operator_has_hidden_or_shown_meanwhile_is_not_changed(
    setting: Setting,
) -> None:
    setting.say(1)
    setting.do("hide", id=1)
    with pytest.raises(ProtocolError, match="caption-changed"):
        setting.do("edit", id=1, text="x", revision=1)
    setting.do("show", id=1, revision=2)
    assert setting.shown() == ["gracia"]
    with pytest.raises(ProtocolError, match="caption-changed"):
        setting.do("show", id=1, revision=2)


def test_a_correction_brings_its_own_translation_along(setting: Setting) -> None:
    setting.say(1)
    setting.do("correct", id=1, text="grace", write="la gracia", revision=1)
    (now,) = setting.board.snapshot().messages
    assert (now.source.text, now.target.text) == ("grace", "la gracia")


def test_who_opens_the_newest_caption_lets_what_follows_be_another(setting: Setting) -> None:
    setting.say(1)
    setting.say(2)
    setting.do("settle", id=1)
    assert setting.hearing.settled == 0, "speech cannot return to that one"
    setting.do("settle", id=2)
    assert setting.hearing.settled == 1
    assert setting.do() == "", "there is nothing to take back"


def test_a_caption_that_has_left_the_history_stays_as_it_is(setting: Setting) -> None:
    setting.say(1)
    setting.do("pause")
    setting.do("hide", id=1)
    for key in range(2, 20):
        setting.say(key)
    with pytest.raises(ProtocolError, match="unknown-caption"):
        setting.do("undo")
    assert setting.do() == "pause"


def test_a_rule_holds_at_once_and_can_be_taken_back(setting: Setting) -> None:
    undo = setting.do("add-rule", heard="filly mun", write="Philemon")
    assert undo == "rule “filly mun” → “Philemon”"
    assert corrected(setting.dictionary.lexicon, "filly mun").text == "Philemon"
    with pytest.raises(ProtocolError, match=r"\[rule-exists\]"):
        setting.do("add-rule", heard="Filly mun", write="Filemon")
    setting.do("undo")
    assert corrected(setting.dictionary.lexicon, "filly mun").text == "filly mun"
    rules = setting.events("rule")
    assert [(r["id"], r["heard"], r["write"], r["removed"]) for r in rules] == [
        ("philemon", "filly mun", "Philemon", False),
        ("philemon", "filly mun", "Philemon", True),
    ]


def test_a_rule_that_was_changed_since_stays(setting: Setting) -> None:
    setting.do("pause")
    setting.do("add-rule", heard="filly mun", write="Philemon")
    setting.dictionary.own.write_text("")
    with pytest.raises(ProtocolError) as caught:
        setting.do("undo")
    assert caught.value.code == "rule-gone"
    assert str(setting.dictionary.own) in caught.value.message
    assert setting.do() == "pause"


def test_a_late_page_is_told_how_things_are(setting: Setting, tmp_path: Path) -> None:
    setting.do("pause")
    assert setting.commands.console() == ConsoleMessage(
        undo="pause",
        paused=True,
        off_record_s=60.0,
        dictionary=str(tmp_path / "dictionary.toml"),
    )


@pytest.mark.slow
def test_undo_always_leads_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever operators do while captions come, undoing it all restores the pipeline's text."""

    class Busy(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            folder = tmp_path_factory.mktemp("sessions")
            self.setting = Setting(folder, source="sw")  # no rules are shipped for it
            self.plain = CaptionBoard("test", "en", "es", 10)  # a board without an operator
            self.steps = 0

        @rule(key=st.integers(1, 4), text=st.sampled_from("ab"), final=st.booleans())
        def say(self, key: int, text: str, final: bool) -> None:
            made = caption(key, text, text, final=final, engine="gemma")
            self.setting.board.show(made)
            self.plain.show(made)

        @rule(key=st.integers(1, 4))
        def filter(self, key: int) -> None:
            self.setting.board.retract(key)
            self.plain.retract(key)

        @rule(key=st.integers(1, 4))
        def go_on(self, key: int) -> None:
            self.setting.board.reopen(key)
            self.plain.reopen(key)

        @rule(
            name=st.sampled_from(
                ["pause", "resume", "blank", "unblank", "edit", "hide", "show", "undo"]
            ),
            key=st.integers(1, 4),
            text=st.sampled_from("xy"),
        )
        def operate(self, name: Any, key: int, text: str) -> None:
            if self.steps == 20:  # more steps than undo can take back
                return
            self.steps += 1
            try:
                self.setting.commands.obey(command(name, key, text))
            except ProtocolError as problem:
                assert problem.code in ("unknown-caption", "nothing-to-undo")  # noqa: PT017

        @rule(heard=st.text(max_size=5), write=st.text(max_size=5))
        def add_rule(self, heard: str, write: str) -> None:
            if self.steps == 20:
                return
            message = {"type": "command", "name": "add-rule", "heard": heard, "write": write}
            codes = ("bad-json", "bad-field", "rule-exists")
            try:
                added = parse(json.dumps(message))
                assert isinstance(added, AddRuleCommand)
                self.setting.commands.obey(added)
                self.steps += 1
            except ProtocolError as problem:
                assert problem.code in codes  # noqa: PT017

        @invariant()
        def seq_goes_on(self) -> None:
            seqs = [message.seq for message in self.setting.published]
            assert seqs == sorted(set(seqs))

        def teardown(self) -> None:
            while self.setting.commands.console().undo:
                self.setting.do("undo")
            console = self.setting.commands.console()
            assert (console.paused, console.blank) == (False, False)
            ours, plain = (
                [(m.id, m.final, m.source.text, m.target) for m in board.snapshot().messages]
                for board in (self.setting.board, self.plain)
            )
            assert ours == plain
            assert self.setting.dictionary.lexicon.rules == ()
            assert self.setting.recorder.close(5), "its files are closed"

    run_state_machine_as_test(
        Busy, settings=settings(deadline=None, max_examples=examples(25), stateful_step_count=25)
    )


def test_each_command_shows_in_the_state_and_in_the_record(setting: Setting) -> None:
    setting.facts.has_begun = True
    setting.coordinator.show(caption(1, "grace", "gracia", final=True, engine="gemma"))
    for name, state in [
        ("pause", "paused"),
        ("resume", "listening"),
        ("blank", "blank"),
        ("unblank", "listening"),
        ("off-record", "blank"),
        ("on-record", "listening"),
    ]:
        setting.do(name)
        assert setting.state[0] == state
        assert setting.hearing.controls is setting.facts
    setting.say(2)
    setting.do("edit", id=2, text="la gracia")
    with pytest.raises(ProtocolError, match="unknown-caption"):
        setting.do("hide", id=99)
    setting.do("undo", "reload")
    assert setting.reloads == 1
    names = [event["name"] for event in setting.events("command")]
    done = "pause resume blank unblank off-record on-record edit undo reload"
    assert names == done.split()


def test_the_settings_are_not_noted_as_reloaded_when_they_were_not(setting: Setting) -> None:
    setting.reload_error = ProtocolError("config-bad-value", "Not reloaded.")
    with pytest.raises(ProtocolError, match="config-bad-value"):
        setting.do("reload")
    assert setting.written() == []


def test_what_an_operator_changed_early_goes_off_the_record_with_all_that_was_said_of_it(
    setting: CoordinatorFixture,
) -> None:
    """Its caption has the times of the edited partial, but the speaker went on for long."""
    setting.coordinator.show(caption(1, "gra", "gracia"))
    setting.commands.obey(command("edit", 1, "Gracia y Anna"))
    setting.coordinator.show(caption(1, "grace and more", "gracia y más", final=True, end_s=100.0))
    setting.hearing.heard_s = 101.0
    setting.commands.obey(command("off-record"))
    assert setting.board.snapshot().messages == ()
    assert setting.written("captions.jsonl") == []


def test_no_earlier_version_of_what_goes_off_the_record_stays_in_the_journal(
    setting: CoordinatorFixture,
) -> None:
    """Its first final ended before the removed stretch; then the speaker went on."""
    setting.coordinator.show(caption(1, "grace", "gracia", final=True, end_s=2.0))
    setting.coordinator.show(caption(2, "amen", "amén", final=True, end_s=80.0))
    setting.coordinator.on_resumed(caption(1, "grace", "gracia").transcript.utterance)
    setting.coordinator.show(caption(1, "grace of Anna", "gracia de Ana", final=True, end_s=90.0))
    setting.recorder.start()
    journal = setting.recorder.folder / "captions.jsonl"
    wait_for(lambda: journal.read_bytes().count(b"\n") == 3)
    setting.hearing.heard_s = 100.0
    setting.commands.obey(command("off-record"))
    assert setting.board.snapshot().messages == ()
    assert setting.written("captions.jsonl") == []


@pytest.mark.parametrize("kept", ["", "paused", "blank", "off_record"])
def test_a_new_session_forgets_nothing_that_operators_have_set(setting: Setting, kept: str) -> None:
    with pytest.raises(ProtocolError, match="one session each"):
        setting.do("new-session")
    setting.facts.may_begin_anew = True
    if kept:
        setattr(setting.facts, kept, True)
        with pytest.raises(ProtocolError, match="Go on first") as refused:
            setting.do("new-session")
        assert refused.value.code == "not-now"
    else:
        setting.do("new-session")
    assert setting.facts.is_new_session_wanted is not bool(kept)
