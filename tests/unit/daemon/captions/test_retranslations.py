"""Operators' texts come back translated and are shown only where they are still valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.reports import Retranslated
from pipeline.core.types import Caption, Verse
from pipeline.daemon.captions.retranslations import LateTranslations
from scripts.support.records import caption
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture


@pytest.fixture
def desk(tmp_path: Path) -> CoordinatorFixture:
    made = CoordinatorFixture(tmp_path, start=False)
    made.board.show(caption(1, "gracious", "gracioso", final=True, engine="gemma"))
    return made


def answer(desk: CoordinatorFixture, text: str, engine: str, *, number: int = -1) -> None:
    asked = desk.hearing.asked[number]
    made = Caption(asked.transcript, "es", text, engine, final=engine == "gemma")
    desk.targets.take(Retranslated(asked.ticket, made, "es"))


def correct(desk: CoordinatorFixture, text: str) -> None:
    desk.commands.obey(command("correct", id=1, text=text))


def texts(desk: CoordinatorFixture) -> list[tuple[str, str]]:
    return [(m.source.text, m.target.text) for m in desk.board.snapshot().messages]


def test_the_quick_translation_comes_and_then_the_final_one(desk: CoordinatorFixture) -> None:
    def now() -> tuple[str, str, bool, str]:
        message = desk.board.message(1)
        return message.source.text, message.target.text, message.final, message.status

    correct(desk, "grace")
    # Pages that show only finals keep the last final of a resumed caption.
    assert now() == ("grace", "gracioso", False, "resumed")
    desk.board.show(caption(1, "gracious", "tarde", final=True, engine="gemma"))
    answer(desk, "gracia.", "marian")
    assert now() == ("grace", "gracia.", False, "resumed")
    answer(desk, "la gracia", "gemma")
    assert now() == ("grace", "la gracia", True, "")
    assert [m.revision for m in desk.screen.messages] == [2, 3, 4]
    assert desk.hearing.asked[0].transcript.lang == "en"
    desk.commands.obey(command("say", text="Amen."))
    typed = desk.board.last_id
    assert not desk.board.message(typed).final
    answer(desk, "Amén.", "gemma")
    assert desk.board.message(typed).final
    kept = [(each["id"], each["target"]["text"]) for each in desk.written("captions.jsonl")]
    assert kept == [(1, "la gracia"), (typed, "Amén.")]


def test_a_doubtful_translation_is_marked_and_can_be_approved(desk: CoordinatorFixture) -> None:
    desk.set("church.hold_doubtful", True)
    correct(desk, "grace")
    asked = desk.hearing.asked[-1]
    made = Caption(asked.transcript, "es", "fe", "gemma", final=True, is_doubtful=True)
    desk.targets.take(Retranslated(asked.ticket, made, "es"))
    assert desk.board.message(1).doubtful
    desk.commands.obey(command("approve", id=1))
    assert not desk.board.message(1).doubtful


@pytest.mark.parametrize("how", ["waited", "over", "off-record", "failed"])
def test_a_caption_is_final_with_what_it_has_where_nothing_better_comes(
    desk: CoordinatorFixture, how: str
) -> None:
    desk.set("church.hold_doubtful", True)
    desk.hearing.heard_s = 100.0
    correct(desk, "grace")
    answer(desk, "gracia", "marian")
    match how:
        case "waited":
            desk.targets.look(2.0**40)
        case "over":
            desk.targets.finish()
        case "off-record":
            desk.commands.obey(command("off-record"))
            desk.facts.off_record = False
        case "failed":
            desk.targets.take(Retranslated(desk.hearing.asked[-1].ticket, None, "es"))
    message = desk.board.message(1)
    assert (message.target.text, message.final) == ("gracia", True)
    assert message.doubtful, "the text was never judged"
    if how == "waited":
        answer(desk, "la gracia", "gemma")
        assert texts(desk) == [("grace", "la gracia")]


def test_a_verse_that_is_taken_meanwhile_stays_and_its_undo_waits_for_the_correction(
    desk: CoordinatorFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    verse = Verse("Juan 1:14", "lleno de gracia", "RV", "es")
    monkeypatch.setattr(desk.context.targets[0].verses, "take", lambda _: verse)
    correct(desk, "grace")
    desk.commands.written.take_verse(1)
    answer(desk, "la gracia", "gemma")
    message = desk.board.message(1)
    assert (message.target.text, message.final, message.verse) == ("la gracia", True, verse)
    desk.commands.obey(command("undo"))
    answer(desk, "la gracia", "gemma")
    message = desk.board.message(1)
    assert (message.target.text, message.final, message.verse) == ("la gracia", True, None)


def test_taken_back_to_a_text_that_was_waiting_it_waits_again(desk: CoordinatorFixture) -> None:
    correct(desk, "grace")
    correct(desk, "the grace")
    desk.commands.obey(command("undo"))
    assert [asked.transcript.text for asked in desk.hearing.asked] == [
        *("grace", "the grace", "grace")
    ]
    answer(desk, "gracia", "gemma")
    assert texts(desk) == [("grace", "gracia")]
    assert desk.board.message(1).final


def test_a_final_that_says_the_same_is_no_new_version(desk: CoordinatorFixture) -> None:
    correct(desk, "grace")
    answer(desk, "gracia", "gemma")
    seq = desk.board.seq
    answer(desk, "otra", "gemma")
    assert desk.board.seq == seq, "the last one was there already"


@pytest.mark.parametrize(
    ("name", "fields"),
    [("hide", {"id": 1}), ("edit", {"id": 1, "text": "Mía."}), ("undo", {})],
)
def test_what_an_operator_does_meanwhile_holds(
    desk: CoordinatorFixture, name: str, fields: dict[str, str]
) -> None:
    correct(desk, "grace")
    desk.commands.obey(command(name, **fields))  # type: ignore[arg-type]
    before = texts(desk)
    answer(desk, "gracia", "marian")
    answer(desk, "la gracia", "gemma")
    assert texts(desk) == before


def test_of_two_corrections_the_later_holds(desk: CoordinatorFixture) -> None:
    correct(desk, "grace")
    correct(desk, "the grace")
    answer(desk, "gracia", "marian", number=0)
    assert texts(desk) == [("the grace", "gracioso")]
    answer(desk, "la gracia", "gemma", number=1)
    answer(desk, "gracia", "gemma", number=0)
    assert texts(desk) == [("the grace", "la gracia")]


def test_a_caption_that_has_left_the_history_is_left_alone(desk: CoordinatorFixture) -> None:
    correct(desk, "grace")
    for key in range(2, 20):
        desk.board.show(caption(key, "a", "b", final=True, engine="gemma"))
    seq = desk.board.seq
    answer(desk, "gracia", "gemma")
    assert desk.board.seq == seq


def test_what_no_translator_could_make_is_told(desk: CoordinatorFixture) -> None:
    correct(desk, "grace")
    desk.targets.take(Retranslated(desk.hearing.asked[-1].ticket, None, "es"))
    assert [each["code"] for each in desk.events("fault")] == ["not-retranslated"]
    assert texts(desk) == [("grace", "gracioso")]


class Owed:
    """Three finals in the spoken language, among translated ones."""

    def __init__(self, tmp_path: Path) -> None:
        self.setting = CoordinatorFixture(tmp_path, start=False)
        self.board = self.setting.board
        self.late = LateTranslations(self.board, self.setting.targets[0].retranslations)
        self.now_s = 0.0
        for key in range(1, 5):
            self.say(key)
        self.board.show(caption(5, "five", "cinco", final=True))

    def say(self, key: int) -> None:
        text = f"text {key}"
        engine, lang = ("source", "en") if key != 3 else ("marian", "es")
        self.board.show(caption(key, text, text, final=True, engine=engine, lang=lang))

    def look(self, *, has_time: bool = True) -> None:
        self.late.look(self.now_s, has_time=has_time)

    @property
    def asked(self) -> list[int]:
        return [each.transcript.utterance.id for each in self.setting.hearing.asked]

    def answer(self, text: str | None = None, *, final: bool = True) -> None:
        asked = self.setting.hearing.asked[-1]
        made = text and Caption(asked.transcript, "es", text, "marian", final=final)
        self.setting.targets.take(Retranslated(asked.ticket, made or None, "es"))

    def texts(self) -> list[str]:
        return [m.target.text for m in self.board.snapshot().messages]


@pytest.fixture
def owed(tmp_path: Path) -> Owed:
    return Owed(tmp_path)


def test_the_newest_comes_first_and_one_at_a_time(owed: Owed) -> None:
    owed.look(has_time=False)
    assert owed.asked == []
    for key in (4, 2, 1):
        owed.look()
        owed.look()
        assert owed.asked[-1] == key
        owed.answer(f"texto {key}", final=False)
    owed.look()
    assert owed.asked == [4, 2, 1]
    assert owed.texts() == ["texto 1", "texto 2", "text 3", "texto 4", "cinco"]
    assert [m.id for m in owed.setting.screen.messages] == [4, 2, 1], "on every screen"


@pytest.mark.parametrize(
    ("name", "fields", "shown"),
    [("hide", {"id": 4}, ""), ("edit", {"id": 4, "text": "Mía."}, "Mía.")],
)
def test_what_an_operator_has_changed_is_left_alone(
    owed: Owed, name: str, fields: dict[str, str], shown: str
) -> None:
    owed.setting.commands.obey(command(name, **fields))  # type: ignore[arg-type]
    owed.look()
    assert owed.asked == [2]
    owed.setting.commands.obey(command("hide", id=2))
    owed.answer("texto 2")
    owed.look()
    assert owed.asked == [2, 1]
    assert (owed.board.message(4).target.text, owed.board.message(2).target.text) == (shown, "")


def test_a_printed_verse_stays_when_its_translation_comes_late(owed: Owed) -> None:
    owed.setting.set("church.hold_doubtful", True)
    verse = Verse("Juan 3:16", "Porque de tal manera amó Dios al mundo", "RV", "es")
    owed.board.put_verse(4, verse)
    owed.look()
    asked = owed.setting.hearing.asked[-1]
    made = Caption(asked.transcript, "es", "Dios amaba", "gemma", final=True, is_doubtful=True)
    owed.setting.targets.take(Retranslated(asked.ticket, made, "es"))
    message = owed.board.message(4)
    assert (message.verse, message.target.text, message.doubtful) == (verse, "Dios amaba", False)


def test_what_is_off_the_record_is_not_translated(owed: Owed) -> None:
    owed.look()
    owed.setting.commands.obey(command("off-record"))
    owed.answer("texto 4")
    owed.look()
    assert (owed.asked, owed.texts()) == ([4], [])


def test_a_text_that_cannot_be_translated_is_tried_twice_and_keeps_none_waiting(
    owed: Owed,
) -> None:
    for _ in range(20):
        owed.look()
        if len(owed.asked) > len(set(owed.asked)) or owed.asked[-1:] == [4]:
            owed.answer(None)
        else:
            owed.answer("texto")
        owed.now_s += 3.0
    assert owed.asked == [4, 2, 1, 4]
    assert owed.texts() == ["texto", "texto", "text 3", "text 4", "cinco"]
    assert owed.setting.events("fault") == [], "no operator has written it"


def test_a_translator_that_never_answers_is_not_waited_for(owed: Owed) -> None:
    owed.look()
    owed.now_s = 61.0
    owed.look()
    owed.now_s = 70.0
    owed.look()
    assert owed.asked == [4, 2]
