"""What operators write comes back translated, and is shown only where it still belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.reports import Retranslated
from pipeline.core.types import Caption
from scripts.support.captions import caption
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
    correct(desk, "grace")
    assert texts(desk) == [("grace", "gracioso")]
    answer(desk, "gracia.", "marian")
    assert texts(desk) == [("grace", "gracia.")]
    answer(desk, "la gracia", "gemma")
    assert texts(desk) == [("grace", "la gracia")]
    assert [m.revision for m in desk.screen.messages] == [2, 3, 4]
    assert desk.hearing.asked[0].transcript.lang == "en"
    assert desk.commands.obey(command("undo")) is None
    assert texts(desk) == [("gracious", "gracioso")]


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


def test_off_the_record_nothing_comes_back(desk: CoordinatorFixture) -> None:
    correct(desk, "grace")
    desk.commands.obey(command("off-record"))
    answer(desk, "gracia", "marian")
    assert texts(desk) == []


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
    desk.recorder.start()
    faults = [each for each in desk.written() if each.get("event") == "fault"]
    assert [each["code"] for each in faults] == ["not-retranslated"]
    assert texts(desk) == [("grace", "gracioso")]
