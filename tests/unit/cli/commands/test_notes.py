"""The `notes` command."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from tests.support.cli import Cli


@pytest.fixture
def church(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sermon.txt").write_text(
        "We read of Shadrach in Daniel 3:16. It was 1943.", "utf-8"
    )
    (tmp_path / "more.md").write_text("# Also\n\nand Meshach, too", "utf-8")
    return tmp_path


@pytest.mark.slow
def test_what_is_drawn_out_is_shown_added_to_and_removed(church: Path, cli: Cli) -> None:
    output = cli("notes add sermon.txt").out
    assert "Names    Shadrach" in output
    assert "Verses   Daniel 3:16" in output
    assert "Numbers  1943" in output
    assert "sessions/notes.toml" in output
    assert "Names    Shadrach, Meshach" in cli("notes add more.md").out
    file = church / "sessions" / "notes.toml"
    file.write_text(file.read_text("utf-8").replace("Meshach", "Abednego"), "utf-8")
    assert "Shadrach, Abednego" in cli("notes show").out
    cli("notes remove")
    assert not file.exists()


@pytest.mark.slow
def test_notes_that_cannot_be_read_leave_the_others_as_they_were(church: Path, cli: Cli) -> None:
    main(["notes", "add", "sermon.txt"])
    before = (church / "sessions" / "notes.toml").read_bytes()
    (church / "x.docx").write_bytes(b"no")
    assert "[notes-unreadable]" in cli("notes add more.md x.docx", code=1).err
    assert (church / "sessions" / "notes.toml").read_bytes() == before
