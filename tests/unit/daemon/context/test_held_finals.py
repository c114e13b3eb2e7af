"""Doubtful finals that wait for an operator, with a real board, record and commands."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ProtocolError
from pipeline.core.types import Verse
from pipeline.protocol.messages import DoubtfulMessage
from pipeline.server.operator_feed import OperatorFeed
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture, caption, utterance

LATER = 2.0**40
"""Seconds of the clock at which everything is due."""


class Desk(CoordinatorFixture):
    """A service whose operator sees the finals that are held back."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {"church.hold_doubtful": True})
        self.told: list[DoubtfulMessage] = []
        self.operators = SimpleNamespace(tell=self.told.append, is_watched=True)
        self.coordinator.doubts._operators = cast("OperatorFeed", self.operators)

    def say(self, text: str = "wrong", *, number: int = 1, **changes: Any) -> None:
        """Close an utterance, show its draft, and deliver its doubtful final."""
        self.coordinator.on_closed(utterance(number))
        self.coordinator.show(caption("draft", final=False, id=number))
        made = replace(caption(text, final=True, id=number), doubt=0.9, is_doubtful=True)
        self.coordinator.show(replace(made, **changes))

    def do(self, name: str, **fields: Any) -> None:
        self.commands.obey(command(name, **fields))

    @property
    def shown(self) -> list[tuple[str, bool, bool]]:
        """What displays received: text, whether it is final, whether it is marked."""
        return [(m.target.text, m.final, m.doubtful) for m in self.screen.messages]

    @property
    def sent(self) -> list[str]:
        """The settled texts, as streams receive them."""
        return [message.target.text for message, _ in self.screen.settled]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.recorder.close(5)


def test_a_doubtful_final_waits_then_comes_with_a_mark(desk: Desk) -> None:
    desk.say()
    assert desk.shown == [("draft", False, False)]
    (told,) = desk.told
    assert (told.id, told.target.text, told.left_s) == (1, "wrong", 7.75)
    assert desk.commands.console().doubtful[0].id == 1
    assert desk.coordinator.release_due(0.0) == []
    (settled,) = desk.coordinator.release_due(LATER)
    assert settled.text == "wrong"
    assert desk.shown == [("draft", False, False), ("wrong", True, True)]
    assert (desk.told[-1].id, desk.told[-1].left_s) == (1, 0.0)
    assert desk.commands.console().doubtful == ()
    assert desk.coordinator.release_due(LATER) == []


@pytest.mark.parametrize(
    ("changes", "is_on", "is_watched", "is_marked"),
    [
        ({"is_doubtful": False}, True, True, False),
        ({"verse": Verse("Juan 3:16", "Porque de tal manera", "RV", "es")}, True, True, False),
        ({}, False, True, False),
        ({}, True, False, True),
    ],
    ids=["sure", "a printed verse", "switched off", "nobody at the desk"],
)
def test_what_need_not_wait_is_shown_at_once(
    desk: Desk, changes: dict[str, Any], is_on: bool, is_watched: bool, is_marked: bool
) -> None:
    desk.set("church.hold_doubtful", is_on)
    desk.operators.is_watched = is_watched
    desk.say("now", **changes)
    assert desk.shown[-1] == ("now", True, is_marked)
    assert desk.told == []


def test_an_operator_approves_it_before_anybody_has_seen_it(desk: Desk) -> None:
    desk.say()
    desk.do("approve", id=1)
    assert desk.shown == [("draft", False, False), ("wrong", True, False)]
    assert desk.sent == ["wrong"]
    desk.do("undo")
    assert desk.shown[-1] == ("wrong", True, True)
    desk.do("approve", id=1)
    assert desk.shown[-1] == ("wrong", True, False)
    with pytest.raises(ProtocolError, match=r"\[not-doubtful\]"):
        desk.do("approve", id=1)


@pytest.mark.parametrize(("name", "text"), [("edit", "right"), ("hide", "")])
def test_what_an_operator_changes_is_never_on_the_screens(desk: Desk, name: str, text: str) -> None:
    desk.say()
    desk.do(name, id=1, text=text)
    assert desk.sent == [text]
    (settled,) = desk.coordinator.release_due(0.0)
    assert settled.text == "wrong", "it is the program's, for those who compare and learn"
    assert desk.shown == [("draft", False, False), (text, True, False)]
    desk.do("undo")  # the program's text comes back, and nobody has approved it
    assert desk.shown[-1] == ("wrong", True, True)
    records = [r for r in desk.written() if r["type"] == "utterance"]
    assert [r["final"]["text"] for r in records] == ["wrong"]
    journal = [(m["target"]["text"], m["doubtful"]) for m in desk.written("captions.jsonl")]
    assert journal == [(text, False), ("wrong", True)]


@pytest.mark.parametrize("name", ["approve", "edit", "hide"])
def test_a_final_that_the_operator_has_not_seen_stays_kept_back(desk: Desk, name: str) -> None:
    desk.say()
    seen = desk.told[-1].revision
    desk.coordinator.on_resumed(replace(utterance(), revision=2, final=False, cause="resumed"))
    longer = replace(utterance(), revision=3)
    said = replace(caption("wrong and more", final=False).transcript, utterance=longer)
    desk.coordinator.show(replace(caption("draft and", final=False), transcript=said))
    desk.coordinator.on_closed(longer)
    made = replace(caption("wrong and more", final=True), transcript=said)
    desk.coordinator.show(replace(made, doubt=0.9, is_doubtful=True))
    assert desk.told[-1].target.text == "wrong and more"
    text = {"text": "right"} if name == "edit" else {}
    with pytest.raises(ProtocolError, match="caption-changed"):
        desk.do(name, id=1, revision=seen, **text)
    assert 1 in desk.coordinator.doubts
    desk.do(name, id=1, revision=desk.told[-1].revision, **text)
    assert 1 not in desk.coordinator.doubts


def test_who_opens_it_lets_nothing_go(desk: Desk) -> None:
    desk.say()
    desk.do("settle", id=1)
    assert 1 in desk.coordinator.doubts


def test_a_correction_that_changes_nothing_still_shows_it(desk: Desk) -> None:
    desk.say()
    desk.do("correct", id=1, text="grace")
    assert desk.shown[-1] == ("wrong", True, True)


def test_what_waits_is_no_lag_but_is_not_finished(desk: Desk) -> None:
    desk.say()
    assert desk.coordinator.tracks.lag_s(100.0) == 0.0
    assert desk.coordinator.tracks.unfinished == 1
    desk.coordinator.release_all()
    assert desk.coordinator.tracks.unfinished == 0
    (record,) = [r for r in desk.written() if r["type"] == "utterance"]
    assert 0 <= record["held_ms"] <= record["last_syllable_to_final_ms"]


def test_off_the_record_it_is_gone(desk: Desk) -> None:
    desk.say()
    with wave.open(BytesIO(desk.commands.sound(1, "es"))) as sound:
        assert (sound.getframerate(), sound.getnframes()) == (16_000, 16_000)
    desk.coordinator.redact(Redaction(0.0, 5.0, (1,)))
    assert desk.commands.sound(1, "es") == b""
    assert desk.told[-1].left_s == 0.0
    assert desk.coordinator.release_due(LATER) == []
    assert all(text != "wrong" for text, *_ in desk.shown)


def test_the_sound_of_the_newest_can_be_heard_while_they_are_decided_on(desk: Desk) -> None:
    """Released finals have their sound too; a final that was never doubtful has none."""
    desk.say("right", is_doubtful=False)
    for number in range(2, 7):
        desk.say(number=number)
    desk.coordinator.release_due(LATER)
    heard = [number for number in range(1, 7) if desk.commands.sound(number, "es")]
    assert heard == [3, 4, 5, 6]


def test_speech_that_returns_takes_it_back(desk: Desk) -> None:
    desk.say()
    desk.coordinator.on_resumed(replace(utterance(), revision=2, final=False, cause="resumed"))
    assert desk.coordinator.release_due(LATER) == []
    assert all(text != "wrong" for text, *_ in desk.shown)


def test_an_engine_that_comes_back_does_not_get_past_it(desk: Desk) -> None:
    desk.say()
    desk.coordinator.show(caption("late", final=True))
    desk.coordinator.release_all()
    assert [text for text, *_ in desk.shown] == ["draft", "wrong"]


def test_what_an_operator_wrote_into_the_draft_stands(desk: Desk) -> None:
    desk.coordinator.on_closed(utterance())
    desk.coordinator.show(caption("draft", final=False))
    desk.do("edit", id=1, text="right")
    made = replace(caption("wrong", final=True), doubt=0.9, is_doubtful=True)
    desk.coordinator.show(made)
    assert (desk.told, desk.shown[-1]) == ([], ("right", True, False))
