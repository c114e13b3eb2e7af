"""The `sessions` command."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.support.journal import message, session
from tests.support.cli import Cli


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    captions = [message(1, "Grace", "Gracia"), message(2, "Peace", "Paz", end_s=600.0)]
    (session(tmp_path / "sessions", captions) / "captions.fr.jsonl").touch()
    (tmp_path / "sessions" / "2026-11-21T19-00-00-0600").mkdir()
    (tmp_path / "sessions" / "2026-11-21T19-00-00-0600" / "captions.jsonl").touch()
    return tmp_path / "sessions"


def test_each_has_its_day_by_its_own_clock(directory: Path, cli: Cli) -> None:
    saturday, sunday = cli("sessions").out.splitlines()
    assert saturday.startswith("2026-11-21T19-00-00-0600    Sat 21 Nov 2026 19:00")
    assert saturday.endswith("nothing was said")
    assert "Sun 22 Nov 2026 09:30" in sunday
    assert "10 min      2 captions  en to es, fr" in sunday


def test_a_day_leaves_the_others_out(directory: Path, cli: Cli) -> None:
    (only,) = cli("sessions", "last sunday").out.splitlines()
    assert only.startswith("2026-11-22T09-30-00")
    assert "[session-missing]" in cli("sessions 2026-11-20", code=1).err


def test_a_broken_one_is_listed_too(directory: Path, cli: Cli) -> None:
    (directory / "2026-11-22T09-30-00" / "captions.jsonl").write_text("no\njson\n")
    assert "cannot be read" in cli("sessions").out


def test_damaged_lines_are_named(directory: Path, cli: Cli) -> None:
    journal = directory / "2026-11-22T09-30-00" / "captions.jsonl"
    journal.write_bytes(b"{\n" + journal.read_bytes())
    output = cli("sessions")
    assert "2 captions  en to es, fr  (damaged lines: captions.jsonl: 1)" in output.out
    assert "lines left out" in output.err


def test_of_many_the_newest_are_shown(directory: Path, cli: Cli) -> None:
    for day in range(1, 29):
        (directory / f"2026-10-{day:02}T10-00-00").mkdir()
        (directory / f"2026-10-{day:02}T10-00-00" / "captions.jsonl").touch()
    lines = cli("sessions").out.splitlines()
    assert lines[0] == "10 older ones: --all"
    assert len(lines) == 21
    assert len(cli("sessions --all").out.splitlines()) == 30
