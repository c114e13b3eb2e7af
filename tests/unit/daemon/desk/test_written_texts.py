"""Typed captions: on the board, in the journal, undone, and none of them off the record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.core.errors import ProtocolError
from pipeline.core.reports import Retranslated
from pipeline.core.types import Caption
from pipeline.records.events import NoticeEvent
from pipeline.session.reader import read_records
from pipeline.session.resume import Unfinished
from scripts.support.records import caption
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
    assert [line["id"] for line in desk.written("captions.jsonl")] == [5, 6]


@pytest.mark.parametrize("name", ["say", "notice"])
def test_what_nobody_is_shown_is_refused(desk: CoordinatorFixture, name: str) -> None:
    with pytest.raises(ProtocolError, match="unknown-lang"):
        desk.commands.obey(command(name, text="Bonjour.", lang="fr"))
    assert texts(desk) == ["gracia"]
    desk.commands.obey(command("off-record"))
    with pytest.raises(ProtocolError, match=r"\[off-record\]"):
        desk.commands.obey(command(name, text="Hello."))


# Notices


def shown(desk: CoordinatorFixture) -> dict[str, str]:
    return desk.commands.written.notices.texts


def answer(desk: CoordinatorFixture, text: str) -> None:
    (asked,) = desk.hearing.asked
    made = Caption(asked.transcript, "es", text, "gemma", final=True)
    desk.targets.take(Retranslated(asked.ticket, made, "es"))


def test_a_translation_that_comes_after_the_next_notice_is_not_shown(
    desk: CoordinatorFixture,
) -> None:
    desk.commands.obey(command("notice", text="At 10:40."))
    desk.commands.obey(command("notice", text="Bienvenidos.", lang="es"))
    assert len(desk.hearing.asked) == 1, "one in the target language is shown as it is"
    answer(desk, "A las 10:40.")
    assert shown(desk) == {"es": "Bienvenidos."}
    desk.commands.obey(command("undo"))
    assert shown(desk) == {"en": "At 10:40."}
    del desk.hearing.asked[0]  # its translation was lost when the next notice came
    answer(desk, "A las 10:40.")
    assert shown(desk) == {"en": "At 10:40.", "es": "A las 10:40."}
    desk.commands.obey(command("undo"))
    assert shown(desk) == {}


def test_off_the_record_takes_what_was_put_up_in_that_time(desk: CoordinatorFixture) -> None:
    desk.hearing.heard_s = 100.0
    desk.commands.obey(command("notice", text="A secret.", lang="es"))
    desk.commands.obey(command("notice", text="Another.", lang="es"))
    desk.commands.obey(command("off-record"))
    assert shown(desk) == {}
    assert desk.commands.console().undo == "", "undo would bring it back"
    assert [each["texts"] for each in desk.events("notice")] == [{}]


@pytest.mark.parametrize("then", ["clear-notice", "notice"])
def test_what_was_taken_away_before_off_the_record_is_not_there_after_a_crash(
    desk: CoordinatorFixture, then: str
) -> None:
    desk.hearing.heard_s = 10.0
    desk.commands.obey(command("notice", text="The first.", lang="es"))
    desk.hearing.heard_s = 100.0
    desk.commands.obey(command(then, text="The second.", lang="es"))
    desk.commands.obey(command("off-record"))
    assert shown(desk) == {}
    desk.recorder.start()
    desk.recorder.close(5)
    records = tuple(read_records(desk.recorder.folder))
    assert Unfinished(desk.recorder.folder, datetime.now(UTC), (), records).notice is None


def test_one_of_before_stays(desk: CoordinatorFixture) -> None:
    desk.hearing.heard_s = 10.0
    desk.commands.obey(command("notice", text="Bienvenidos.", lang="es"))
    desk.hearing.heard_s = 1000.0
    desk.commands.obey(command("off-record"))
    assert shown(desk) == {"es": "Bienvenidos."}


def test_a_session_that_goes_on_shows_it_again(desk: CoordinatorFixture) -> None:
    event = NoticeEvent(utc="2026-11-22T09:00:00+00:00", at_s=5.0, texts={"es": "Bienvenidos."})
    desk.commands.written.notices.restore(event)
    assert shown(desk) == {"es": "Bienvenidos."}
