"""A session opens new, or resumes where a crash left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import SessionError
from pipeline.core.formats import utc_now
from pipeline.daemon.context.context import OpenSession, open_session
from scripts.support.records import caption, health_record


def settings_in(folder: Path, **translate: object) -> Settings:
    flags = {f"translate.{key}": value for key, value in translate.items()}
    return load(flags={"session.directory": str(folder)} | flags).settings


def break_off(session: OpenSession) -> None:
    """Write the files of a service that was killed after its third caption."""
    session.recorder.start()
    session.recorder.record(health_record(mode="live", utc=utc_now()))
    message = session.boards[0].show(caption(3, "grace", "gracia", final=True))
    assert message
    session.recorder.caption(message, "es")
    assert session.recorder.close(5)


def test_a_new_session_begins_at_nothing(tmp_path: Path) -> None:
    session = open_session(settings_in(tmp_path), "live", print)
    assert (session.earlier, session.last_id, session.origin_s) == (None, 0, 0.0)
    assert session.boards[0].session == session.recorder.folder.name


def test_a_service_that_broke_off_goes_on_with_its_captions(tmp_path: Path) -> None:
    first = open_session(settings_in(tmp_path), "live", print)
    break_off(first)
    again = open_session(settings_in(tmp_path), "live", print)
    assert again.recorder.folder == first.recorder.folder
    assert again.boards[0].session == f"{first.boards[0].session}+1"
    assert again.last_id == 3
    assert again.origin_s > 0
    assert [message.id for message in again.boards[0].snapshot().messages] == [3]


def test_speech_does_not_take_the_id_of_a_caption_typed_in_another_language(
    tmp_path: Path,
) -> None:
    """The last typed caption keeps its id: speech with that id would never be shown."""
    settings = settings_in(tmp_path, targets=[{"lang": "fr"}])
    first = open_session(settings, "live", print)
    first.recorder.caption(first.boards[1].add_typed(4, 10.0, "bonjour", "fr"), "fr")
    break_off(first)
    again = open_session(settings, "live", print)
    assert again.boards[1].has_final(4)
    assert again.last_id == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"target": "fr", "targets": [{"lang": "es"}]},  # the two languages are swapped
        {"source": "es", "target": "en"},  # the other direction: transcripts have the same names
    ],
)
def test_a_service_does_not_go_on_in_the_files_of_another_language(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    first = open_session(settings_in(tmp_path, targets=[{"lang": "fr"}]), "live", print)
    break_off(first)
    other = open_session(settings_in(tmp_path, **changed), "live", print)
    assert other.earlier is None
    assert other.boards[0].snapshot().messages == ()


def test_a_rehearsal_takes_up_nothing(tmp_path: Path) -> None:
    first = open_session(settings_in(tmp_path), "live", print)
    break_off(first)
    rehearsal = open_session(settings_in(tmp_path), "dry-run", print)
    assert rehearsal.earlier is None
    assert rehearsal.recorder.folder != first.recorder.folder


def test_a_folder_that_cannot_be_made_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="session-unwritable"):
        open_session(settings_in(tmp_path / "file"), "live", print)
