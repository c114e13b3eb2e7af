"""The notes of a service: taken once, told to the parts, gone with the session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.church.mention import Reference
from pipeline.church.notes import Notes, written
from pipeline.daemon.service_notes import take_notes, use_notes
from tests.support.coordinator import CoordinatorFixture

NOTES = Notes(names=("Bonhoeffer",), verses=("Daniel 3:16",), words=frozenset({"hope"}))


@pytest.fixture
def sessions(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "notes.toml").write_text(written(NOTES, "a.txt"), "utf-8")
    (tmp_path / "session").mkdir()
    return tmp_path, tmp_path / "session"


def test_a_service_takes_the_notes_into_its_folder(sessions: tuple[Path, Path]) -> None:
    directory, session = sessions
    assert take_notes(directory, session, "live") == NOTES
    assert not (directory / "notes.toml").exists()
    assert take_notes(directory, session, "live") == NOTES, "also when it goes on after a crash"
    (directory / "next").mkdir()
    assert take_notes(directory, directory / "next", "live") == Notes()


def test_a_rehearsal_uses_them_and_leaves_them(sessions: tuple[Path, Path]) -> None:
    directory, session = sessions
    assert take_notes(directory, session, "dry-run") == NOTES
    assert (directory / "notes.toml").exists()


def test_broken_notes_end_no_service(sessions: tuple[Path, Path]) -> None:
    directory, session = sessions
    (directory / "notes.toml").write_text("names = [", "utf-8")
    assert take_notes(directory, session, "live") == Notes()


def test_they_are_told_to_dictionary_and_verses(tmp_path: Path) -> None:
    setting = CoordinatorFixture(tmp_path, start=False)
    told: list[Reference] = []

    def expect(references: Sequence[Reference]) -> None:
        told.extend(references)

    setting.context.verses.expect = expect  # type: ignore[method-assign]
    use_notes(NOTES, setting.context, "en")
    lexicon = setting.context.dictionary.lexicon_for("said bon hoffer then")
    assert "bon hoffer" in lexicon.entries
    assert told == [Reference(27, 3, 16)]


def test_their_translations_go_before_the_glossary_for_this_service(tmp_path: Path) -> None:
    setting = CoordinatorFixture(tmp_path, start=False)
    use_notes(Notes(terms=("covenant = alianza", "?? = ??")), setting.context, "en")
    (term,) = setting.context.dictionary.glossaries.of("es").find("The covenant holds.")
    assert term.forms == ("alianza",)
