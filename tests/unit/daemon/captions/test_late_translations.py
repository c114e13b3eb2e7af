"""Finals that were left in the spoken language are translated later, the newest first."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.reports import Retranslated
from pipeline.core.types import Caption
from pipeline.daemon.captions.late_translations import LateTranslations
from scripts.support.captions import caption
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture


class Desk:
    """Three finals in the spoken language, between others."""

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
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_newest_comes_first_and_one_at_a_time(desk: Desk) -> None:
    desk.look(has_time=False)
    assert desk.asked == []
    for key in (4, 2, 1):
        desk.look()
        desk.look()
        assert desk.asked[-1] == key
        desk.answer(f"texto {key}", final=False)
    desk.look()
    assert desk.asked == [4, 2, 1]
    assert desk.texts() == ["texto 1", "texto 2", "text 3", "texto 4", "cinco"]
    assert [m.id for m in desk.setting.screen.messages] == [4, 2, 1], "on every screen"


@pytest.mark.parametrize(
    ("name", "fields", "shown"),
    [("hide", {"id": 4}, ""), ("edit", {"id": 4, "text": "Mía."}, "Mía.")],
)
def test_what_an_operator_has_changed_is_left_alone(
    desk: Desk, name: str, fields: dict[str, str], shown: str
) -> None:
    desk.setting.commands.obey(command(name, **fields))  # type: ignore[arg-type]
    desk.look()
    assert desk.asked == [2]
    desk.setting.commands.obey(command("hide", id=2))
    desk.answer("texto 2")
    desk.look()
    assert desk.asked == [2, 1]
    assert (desk.board.message(4).target.text, desk.board.message(2).target.text) == (shown, "")


def test_what_is_off_the_record_is_not_translated(desk: Desk) -> None:
    desk.look()
    desk.setting.commands.obey(command("off-record"))
    desk.answer("texto 4")
    desk.look()
    assert (desk.asked, desk.texts()) == ([4], [])


def test_a_text_that_cannot_be_translated_is_tried_twice_and_keeps_none_waiting(
    desk: Desk,
) -> None:
    for _ in range(20):
        desk.look()
        if len(desk.asked) > len(set(desk.asked)) or desk.asked[-1:] == [4]:
            desk.answer(None)
        else:
            desk.answer("texto")
        desk.now_s += 3.0
    assert desk.asked == [4, 2, 1, 4]
    assert desk.texts() == ["texto", "texto", "text 3", "text 4", "cinco"]
    desk.setting.recorder.start()
    faults = [each for each in desk.setting.written() if each.get("event") == "fault"]
    assert faults == [], "no operator has written it"


def test_a_translator_that_never_answers_is_not_waited_for(desk: Desk) -> None:
    desk.look()
    desk.now_s = 61.0
    desk.look()
    desk.now_s = 70.0
    desk.look()
    assert desk.asked == [4, 2]
