"""A rule for the rest of the service: the next utterance, shown captions, undo, the next run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import ProtocolError
from pipeline.core.reports import Rendition
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.commands import CommandMessage
from pipeline.records.events import RuleEvent, held_rules
from pipeline.session.reader import read_records
from scripts.support.records import caption
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture
from tests.support.corrections import corrected

HOLD = command("hold-rule", heard="zor", write="Zohar")


@pytest.fixture
def desk(tmp_path: Path) -> CoordinatorFixture:
    made = CoordinatorFixture(tmp_path, start=False, church_words=True)
    for key, text in enumerate(("we met zor today", "nothing here", "Zor's house"), 1):
        made.board.show(caption(key, text, f"({text})", final=True, engine="gemma"))
    made.board.show(caption(4, "and zor", "(and zor)"))
    return made


def said(desk: CoordinatorFixture) -> list[str]:
    return [message.source.text for message in desk.board.snapshot().messages]


def test_it_holds_for_what_is_said_next_and_for_what_stands(desk: CoordinatorFixture) -> None:
    desk.commands.obey(HOLD)
    assert corrected(desk.context.dictionary.lexicon, "so zor said").text == "so Zohar said"
    assert said(desk) == ["we met Zohar today", "nothing here", "Zohar's house", "and zor"]
    asked = [request.transcript.text for request in desk.hearing.asked]
    assert asked == ["Zohar's house", "we met Zohar today"], "the newest first"
    assert not desk.context.dictionary.own.exists(), "no file has it"
    assert desk.commands.console().undo == "“zor” → “Zohar” for this service"


@pytest.mark.parametrize("rule", [HOLD, command("hold-term", heard="zor", write="Z", text="(and")])
def test_what_is_said_after_a_caption_that_was_put_right_is_another(
    desk: CoordinatorFixture, rule: CommandMessage
) -> None:
    """A caption that an operator changed stays fixed: further words in it would be lost."""
    desk.board.show(caption(4, "and zor", "(and zor)", final=True))
    desk.commands.obey(rule)
    assert desk.hearing.settled == 1


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (HOLD, ("Zohar spoke", "(zor spoke)")),
        (
            command("hold-term", heard="zor", write="Zohar", text="(zor"),
            ("zor spoke", "(Zohar spoke)"),
        ),
    ],
)
def test_a_doubtful_final_that_waits_for_an_operator_has_it_too(
    desk: CoordinatorFixture, rule: CommandMessage, shown: tuple[str, str]
) -> None:
    desk.board.hide(4)
    desk.coordinator.doubts.hold(caption(5, "zor spoke", "(zor spoke)", final=True), 0.0, 1)
    desk.commands.obey(rule)
    message = desk.board.message(5)
    assert (message.source.text, message.target.text) == shown
    desk.commands.obey(command("undo"))
    message = desk.board.message(5)
    assert (message.source.text, message.target.text) == ("zor spoke", "(zor spoke)")
    assert message.doubtful


def test_a_final_that_was_recognized_before_the_rule_has_it_when_it_comes(
    desk: CoordinatorFixture,
) -> None:
    desk.commands.obey(HOLD)
    desk.targets.take(Rendition("es", caption(4, "and zor", "(y zor)", final=True)))
    assert said(desk)[-1] == "and Zohar"
    desk.commands.obey(command("undo"))
    assert said(desk)[-1] == "and zor"
    assert desk.board.message(4).target.text == "(y zor)"


def test_what_it_would_change_is_told_before(desk: CoordinatorFixture) -> None:
    rules = desk.commands._held_rules
    before = said(desk)
    preview = rules.preview("zor", "Zohar")
    assert [(each.id, each.text) for each in preview.captions] == [
        (3, "Zohar's house"),
        (1, "we met Zohar today"),
    ]
    assert (said(desk), desk.commands.console().undo, desk.hearing.asked) == (before, "", [])
    preview = rules.preview("house", "home")
    assert "everyday word" in preview.refused
    assert preview.captions == ()


def test_what_a_rendering_would_change_is_told_before(desk: CoordinatorFixture) -> None:
    before = said(desk)
    shown = [each.target.text for each in desk.board.snapshot().messages]
    desk.board.show(caption(5, "the zor", "el pacto", final=True))
    preview = desk.commands._held_rules.preview_term("zor", "la alianza", "el pacto")
    assert [(each.id, each.text) for each in preview.captions] == [(5, "la alianza")]
    assert (said(desk)[: len(before)], desk.commands.console().undo) == (before, "")
    assert [each.target.text for each in desk.board.snapshot().messages] == [*shown, "el pacto"]
    assert desk.commands._held_rules.preview_term("zor", "x", "()").captions == ()


def test_one_undo_takes_all_of_it_back(desk: CoordinatorFixture) -> None:
    before = said(desk)
    desk.commands.obey(HOLD)
    desk.commands.obey(command("undo"))
    assert said(desk) == before
    assert corrected(desk.context.dictionary.lexicon, "so zor said").text == "so zor said"
    rules = desk.events("rule")
    assert [(each["held"], each["removed"]) for each in rules] == [(True, False), (True, True)]


def test_what_an_operator_wrote_as_a_translation_stays(desk: CoordinatorFixture) -> None:
    desk.commands.obey(command("edit", id=1, text="Mía."))
    desk.commands.obey(HOLD)
    assert desk.board.message(1).target.text == "Mía."
    assert desk.board.message(1).source.text == "we met zor today"


def test_the_same_words_are_not_held_twice(desk: CoordinatorFixture) -> None:
    desk.commands.obey(HOLD)
    with pytest.raises(ProtocolError, match="rule-exists"):
        desk.commands.obey(command("hold-rule", heard="Zor", write="Sor"))


@pytest.mark.parametrize("name", ["hold-rule", "add-rule"])
def test_without_a_dictionary_there_are_no_rules(tmp_path: Path, name: str) -> None:
    desk = CoordinatorFixture(tmp_path, {"dictionary.enabled": False}, start=False)
    assert desk.commands.console().dictionary == ""
    with pytest.raises(ProtocolError, match=r"dictionary\.enabled.*\[rule-refused\]"):
        desk.commands.obey(command(name, heard="zor", write="Zohar"))


def test_what_was_held_in_the_last_minute_goes_off_the_record(desk: CoordinatorFixture) -> None:
    """The rule's words were said in that time, or replaced words that were."""
    desk.hearing.heard_s = 10.0
    desk.commands.obey(command("hold-rule", heard="bex", write="Bexhill"))
    desk.hearing.heard_s = 1000.0
    desk.commands.obey(HOLD)
    desk.commands.obey(command("off-record"))
    assert [rule.write for rule in desk.context.dictionary._held] == ["Bexhill"]
    assert desk.commands.console().undo == ""
    assert [each["heard"] for each in desk.events("rule")] == ["bex"]


def test_what_was_taken_back_before_off_the_record_is_not_held_after_a_crash(
    desk: CoordinatorFixture,
) -> None:
    desk.hearing.heard_s = 10.0
    desk.commands.obey(HOLD)
    desk.hearing.heard_s = 100.0
    desk.commands.obey(command("undo"))
    desk.commands.obey(command("off-record"))
    desk.recorder.start()
    desk.recorder.close(5)
    assert held_rules(read_records(desk.recorder.folder)) == ()


@pytest.mark.slow
def test_a_reload_and_a_rule_of_the_church_leave_it_in_force(desk: CoordinatorFixture) -> None:
    dictionary = desk.context.dictionary
    desk.commands.obey(HOLD)
    desk.commands.obey(command("add-rule", heard="filly mun", write="Philemon"))
    dictionary.take(Dictionary(desk.settings))
    for heard, text in (("zor", "Zohar"), ("filly mun", "Philemon")):
        assert corrected(dictionary.lexicon, heard).text == text
    desk.commands.obey(command("undo"))
    assert corrected(dictionary.lexicon, "zor").text == "Zohar"


def test_what_was_taken_back_is_not_held_by_the_next_run() -> None:
    def event(heard: str, *, removed: bool = False, held: bool = True) -> RuleEvent:
        return RuleEvent(
            utc="", id=heard, heard=heard, write=heard.upper(), removed=removed, held=held
        )

    records = [event("a"), event("b"), event("c", held=False), event("a", removed=True)]
    assert [(rule.heard, rule.write) for rule in held_rules(records)] == [("b", "B")]


TERM = command("hold-term", heard="covenant", write="pacto", text="acuerdo")


@pytest.fixture
def covenants(tmp_path: Path) -> CoordinatorFixture:
    made = CoordinatorFixture(tmp_path, start=False, church_words=True)
    texts = [
        ("A new covenant.", "Un nuevo acuerdo."),
        ("We agree.", "Estamos de acuerdo."),
        ("The covenants of old.", "Los acuerdos de antes."),
    ]
    for key, (said_, shown) in enumerate(texts, 1):
        made.board.show(caption(key, said_, shown, final=True, engine="gemma"))
    return made


def test_a_rendering_without_a_word_in_it_replaces_nothing(covenants: CoordinatorFixture) -> None:
    before = covenants.board.snapshot().messages
    covenants.commands.obey(command("hold-term", heard="covenant", write="pacto", text=":"))
    assert covenants.board.snapshot().messages == before
    assert covenants.context.dictionary.glossaries.of("es").find("His covenant stands.")


def test_a_rendering_is_replaced_where_the_word_was_said_and_nowhere_else(
    covenants: CoordinatorFixture,
) -> None:
    before = covenants.board.snapshot().messages
    covenants.commands.obey(TERM)
    shown = [message.target.text for message in covenants.board.snapshot().messages]
    assert shown == ["Un nuevo pacto.", "Estamos de acuerdo.", "Los pactos de antes."]
    glossary = covenants.context.dictionary.glossaries.of("es")
    (wanted,) = glossary.find("His covenant stands.")
    assert wanted.forms[0] == "pacto"
    covenants.commands.obey(command("undo"))
    after = covenants.board.snapshot().messages
    assert [m.target for m in after] == [m.target for m in before]
    assert covenants.context.dictionary.glossaries.held("es") == ()
    rules = covenants.events("rule")
    assert [(each["lang"], each["removed"]) for each in rules] == [("es", False), ("es", True)]


RULE = RuleEvent(utc="", id="1", heard="zor", write="Zohar", removed=False, held=True, at_s=90.0)
BOTH = [RULE, replace(RULE, id="2", heard="covenant", write="pacto", lang="es")]


def test_the_next_run_holds_both(desk: CoordinatorFixture) -> None:
    desk.commands._held_rules.restore(BOTH)
    assert corrected(desk.context.dictionary.lexicon, "zor").text == "Zohar"
    assert [term.write for term in desk.context.dictionary.glossaries.held("es")] == [("pacto",)]
    desk.hearing.heard_s = 120.0
    desk.commands.obey(command("off-record"))  # the rules' words were said in that time
    assert not desk.context.dictionary._held
    assert not desk.context.dictionary.glossaries.held("es")


@pytest.mark.parametrize("name", ["hold-rule", "add-rule"])
def test_an_everyday_word_alone_is_refused_with_a_reason(
    desk: CoordinatorFixture, name: str
) -> None:
    with pytest.raises(ProtocolError, match="'health' is an everyday word"):
        desk.commands.obey(command(name, heard="health", write="help"))
    assert said(desk)[0] == "we met zor today"
    assert not desk.context.dictionary.own.exists()


def test_the_next_run_holds_what_it_can(tmp_path: Path) -> None:
    flags = {"dictionary.enabled": False, "church.glossary": True}
    desk = CoordinatorFixture(tmp_path, flags, start=False)
    desk.commands._held_rules.restore(BOTH)
    assert [term.write for term in desk.context.dictionary.glossaries.held("es")] == [("pacto",)]
