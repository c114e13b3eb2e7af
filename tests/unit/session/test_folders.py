"""Session folders."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pipeline.core.errors import SessionError
from pipeline.session.folders import make_folder, unwritable

STARTED = datetime(2026, 11, 22, 9, 30, 0, tzinfo=UTC)


def test_a_folder_is_named_after_its_start(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "a", STARTED) == tmp_path / "a" / "2026-11-22T09-30-00"
    assert make_folder(tmp_path / "a", STARTED).name == "2026-11-22T09-30-00-2"


def test_an_unwritable_folder_is_an_error_with_its_fix() -> None:
    error = unwritable(Path("/srv/x"), "Read-only file system")
    assert isinstance(error, SessionError)
    assert str(error).startswith("/srv/x cannot be written: Read-only file system. Set session.")
