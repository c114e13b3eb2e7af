"""A session opens new, or resumes where a crash left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.config.schema import Settings
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
    session.recorder.on_caption(message, "es")
    assert session.recorder.close(5)


def test_speech_does_not_take_the_id_of_a_caption_typed_in_another_language(
    tmp_path: Path,
) -> None:
    """The last typed caption keeps its id: speech with that id would never be shown."""
    settings = settings_in(tmp_path, targets=[{"lang": "fr"}])
    first = open_session(settings, "live", print)
    first.recorder.on_caption(first.boards[1].add_typed(4, 10.0, "bonjour", "fr"), "fr")
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
    assert (other.earlier, other.last_id, other.origin_s) == (None, 0, 0.0)
    assert other.boards[0].session == other.recorder.folder.name
    assert other.boards[0].snapshot().messages == ()
