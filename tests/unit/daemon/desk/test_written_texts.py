"""Typed captions: on the board, journaled, undone, and nothing of them off the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ProtocolError
from scripts.support.captions import caption
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture


@pytest.fixture
def desk(tmp_path: Path) -> CoordinatorFixture:
    made = CoordinatorFixture(tmp_path, start=False)
    made.hearing.ids.last = 4
    made.hearing.heard_s = 100.0
    made.board.show(caption(4, "grace", "gracia", final=True, engine="gemma"))
    return made


def texts(desk: CoordinatorFixture) -> list[str]:
    return [m.target.text or m.source.text for m in desk.board.snapshot().messages]


def test_a_typed_caption_follows_what_was_said(desk: CoordinatorFixture) -> None:
    desk.commands.obey(command("say", text="Bienvenidos.", lang="es"))
    desk.commands.obey(command("say", text="Children may go."))
    assert texts(desk) == ["gracia", "Bienvenidos.", "Children may go."]
    assert [m.id for m in desk.screen.messages] == [5, 6]
    assert desk.hearing.asked[0].transcript.text == "Children may go."
    assert desk.commands.console().undo == "typed caption 6"
    desk.commands.obey(command("undo"))
    assert texts(desk) == ["gracia", "Bienvenidos."]
    desk.recorder.start()
    assert [line["id"] for line in desk.written("captions.jsonl")] == [5, 6]


@pytest.mark.parametrize("name", ["say", "notice"])
def test_a_language_that_nobody_is_shown_is_refused(desk: CoordinatorFixture, name: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        desk.commands.obey(command(name, text="Bonjour.", lang="fr"))
    assert caught.value.code == "unknown-lang"
    assert texts(desk) == ["gracia"]


@pytest.mark.parametrize("name", ["say", "notice"])
def test_off_the_record_nothing_is_typed(desk: CoordinatorFixture, name: str) -> None:
    desk.commands.obey(command("off-record"))
    with pytest.raises(ProtocolError) as caught:
        desk.commands.obey(command(name, text="Hello."))
    assert caught.value.code == "off-record"


def test_what_was_typed_just_before_goes_off_the_record_too(desk: CoordinatorFixture) -> None:
    """Also while nothing is heard, when its time is the very end of the stretch."""
    desk.commands.obey(command("say", text="A secret.", lang="es"))
    desk.commands.obey(command("off-record"))
    assert "A secret." not in texts(desk)
    desk.recorder.start()
    assert "secret" not in str(desk.written("captions.jsonl"))
    assert desk.commands.console().undo == ""
