"""The notes of a service: taken once, extended at the desk, passed to the parts, gone after it."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.notes import notes_files
from pipeline.church.notes.notes import Notes, written
from pipeline.church.notes.notes_files import read_notes
from pipeline.church.scripture.books import Reference
from pipeline.core.errors import ProtocolError
from pipeline.core.types import Mode
from pipeline.daemon.desk import service_notes
from pipeline.daemon.desk.service_notes import find_notes, move_notes
from pipeline.protocol.commands import AddNotesCommand, DropNoteCommand
from tests.support.coordinator import CoordinatorFixture
from tests.support.hub import in_loop

NOTES = Notes(names=("Bonhoeffer",), verses=("Daniel 3:16",), words=frozenset({"hope"}))


@pytest.fixture
def sessions(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "notes.toml").write_text(written(NOTES, "a.txt"), "utf-8")
    (tmp_path / "session").mkdir()
    return tmp_path, tmp_path / "session"


def take_notes(directory: Path, session: Path) -> Notes:
    found = find_notes(directory, session, "live")
    move_notes(directory / "notes.toml", session / "notes.toml")
    return found


@pytest.mark.parametrize(
    ("mode", "notes"), [("live", NOTES), ("dry-run", NOTES), ("demo", Notes())]
)
def test_a_rehearsal_uses_notes_a_demonstration_does_not_and_finding_them_moves_none(
    sessions: tuple[Path, Path], mode: Mode, notes: Notes
) -> None:
    directory, session = sessions
    assert find_notes(directory, session, mode) == notes
    assert (directory / "notes.toml").exists()
    assert not (session / "notes.toml").exists()


def test_a_service_takes_the_notes_into_its_folder(sessions: tuple[Path, Path]) -> None:
    directory, session = sessions
    assert take_notes(directory, session) == NOTES
    assert not (directory / "notes.toml").exists()
    assert take_notes(directory, session) == NOTES, "also when it goes on after a crash"
    (directory / "next").mkdir()
    assert take_notes(directory, directory / "next") == Notes()


def test_a_start_takes_the_notes_that_killed_starts_without_a_caption_had_taken(
    sessions: tuple[Path, Path],
) -> None:
    directory, first = sessions
    (first / "captions.jsonl").touch()
    take_notes(directory, first)
    second, third = directory / "t", directory / "u"
    for folder in (second, third):
        folder.mkdir()
        (folder / "captions.jsonl").touch()
    assert take_notes(directory, second) == NOTES
    assert not (first / "notes.toml").exists()
    # Somebody spoke in this session: its notes end with it, and so do earlier ones.
    (second / "captions.jsonl").write_text("a caption")
    assert take_notes(directory, third) == Notes()
    assert (second / "notes.toml").exists()


def test_broken_notes_end_no_service(sessions: tuple[Path, Path]) -> None:
    directory, session = sessions
    (directory / "notes.toml").write_text("names = [", "utf-8")
    assert find_notes(directory, session, "live") == Notes()


def test_they_are_told_to_dictionary_and_verses(tmp_path: Path) -> None:
    setting = CoordinatorFixture(tmp_path, start=False, church_words=True)
    received: list[Reference] = []

    def expect(references: Sequence[Reference]) -> None:
        received.extend(references)

    setting.context.targets[0].verses.expect = expect  # type: ignore[method-assign]
    setting.notes.use(NOTES)
    lexicon = setting.context.dictionary.lexicon_for("said bon hoffer then")
    assert "bon hoffer" in lexicon.entries
    assert received == [Reference(27, 3, 16)]


def test_their_translations_go_before_the_glossary_for_this_service(tmp_path: Path) -> None:
    setting = CoordinatorFixture(tmp_path, start=False, church_words=True)
    setting.notes.use(Notes(terms=("covenant = alianza", "?? = ??")))
    assert forms(setting) == [("alianza",)]
    setting.notes.use(Notes())
    assert forms(setting) != [("alianza",)], "and no longer"


def test_hundreds_of_translations_are_in_force_at_once(tmp_path: Path) -> None:
    setting = CoordinatorFixture(tmp_path, start=False, church_words=True)
    names = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(500)]
    began_s = time.thread_time()
    setting.notes.use(Notes(terms=tuple(f"{name} = palabra" for name in names)))
    assert len(setting.context.dictionary.glossaries.held("es")) == 500
    assert time.thread_time() - began_s < 2, "it took 12 s, with a compilation for each"


def forms(setting: CoordinatorFixture) -> list[tuple[str, ...]]:
    glossary = setting.context.dictionary.glossaries.of("es")
    return [term.forms for term in glossary.find("The covenant holds.")]


def heard(setting: CoordinatorFixture) -> Mapping[str, object]:
    return setting.context.dictionary.lexicon_for("said zwingen berger then").entries


# Added at the desk


SERMON = (
    b"Today we hear what Zwingenberger wrote in 1945, and read Daniel 3:16.\ncovenant = alianza\n"
)


@in_loop
async def send(
    setting: CoordinatorFixture, content: bytes = SERMON, name: str = "sermon.txt", part: int = 40
) -> None:
    """Send a file as an operator's page does."""
    for at in range(0, len(content), part):
        data = base64.b64encode(content[at : at + part]).decode()
        sent = AddNotesCommand(file=name, size=len(content), at=at, data=data)
        if (doing := setting.commands.obey(sent)) is not None:
            await doing


@in_loop
async def drop(setting: CoordinatorFixture, entry: str) -> None:
    doing = setting.commands.obey(DropNoteCommand(entry=entry))
    assert doing is not None
    await doing


@pytest.mark.slow
def test_a_file_in_parts_is_drawn_out_used_kept_and_corrected(
    tmp_path: Path,
) -> None:
    setting = CoordinatorFixture(tmp_path, church_words=True)
    assert "zwingen berger" not in heard(setting)
    half = base64.b64encode(SERMON[:40]).decode()
    forgotten = AddNotesCommand(file="a.txt", size=90, at=0, data=half)
    assert setting.commands.obey(forgotten) is None, "another file begins before its end"
    send(setting)
    notes = setting.commands.console().notes
    assert (notes.names, notes.verses, notes.terms) == (
        ("Zwingenberger",),
        ("Daniel 3:16",),
        ("covenant = alianza",),
    )
    assert "zwingen berger" in heard(setting)
    assert forms(setting) == [("alianza",)]
    kept = read_notes(setting.recorder.folder / "notes.toml")
    assert (kept.names, kept.terms) == (notes.names, notes.terms)
    send(setting, b"And Ravensbruck was what she saw.", "more.md")
    assert setting.commands.console().notes.names == ("Zwingenberger", "Ravensbruck")
    commands = [r["name"] for r in setting.events("command")]
    assert commands == ["add-notes", "add-notes"], "once a file, not once a part"
    for entry in ("Zwingenberger", "covenant = alianza"):
        drop(setting, entry)
    notes = setting.commands.console().notes
    assert (notes.names, notes.verses, notes.terms) == (("Ravensbruck",), ("Daniel 3:16",), ())
    assert forms(setting) != [("alianza",)]
    assert "zwingen berger" not in heard(setting)
    assert read_notes(setting.recorder.folder / "notes.toml").names == ("Ravensbruck",)
    with pytest.raises(ProtocolError, match="unknown-note"):
        drop(setting, "Zwingenberger")


@pytest.mark.slow
def test_a_file_that_is_none_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = CoordinatorFixture(tmp_path, start=False)
    setting.notes.use(NOTES)
    for content, name, code in (
        (b"no zip", "sermon.docx", "notes-unreadable"),
        (b"what", "sermon.odt", "notes-unknown"),
        (b"...", "sermon.txt", "notes-empty"),
    ):
        with pytest.raises(ProtocolError, match=code):
            send(setting, content, name)
    monkeypatch.setattr(notes_files, "LIMITS", replace(notes_files.LIMITS, seconds=0.01))
    with pytest.raises(ProtocolError, match=r"sermon\.txt took more than 0\.01 s to read"):
        send(setting)
    assert setting.commands.console().notes.names == NOTES.names


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (AddNotesCommand(file="a.txt", size=9, at=3, data="AAAA"), "notes-incomplete"),
        (AddNotesCommand(file="a.txt", size=9, at=0, data="?"), "bad-field"),
        (AddNotesCommand(file="a.txt", size=1, at=0, data="AAAA"), "bad-field"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, part: AddNotesCommand, code: str
) -> None:
    setting = CoordinatorFixture(tmp_path, start=False)
    with pytest.raises(ProtocolError, match=code):
        setting.commands.obey(part)


def test_two_files_at_the_same_time_are_not_mixed(tmp_path: Path) -> None:
    setting = CoordinatorFixture(tmp_path, start=False)
    for name in ("a.txt", "b.txt"):
        setting.commands.obey(AddNotesCommand(file=name, size=6, at=0, data="AAAA"))
    with pytest.raises(ProtocolError, match=r"A part of a\.txt is missing"):
        setting.commands.obey(AddNotesCommand(file="a.txt", size=6, at=3, data="AAAA"))


@in_loop
async def test_of_two_changes_the_file_keeps_the_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = CoordinatorFixture(tmp_path, start=False)
    setting.recorder.folder.mkdir(exist_ok=True)
    setting.notes.use(Notes(names=("Bonhoeffer", "Ravensbruck", "Zwingenberger")))
    later = threading.Event()

    def write(path: Path, content: str) -> None:
        # The disk delays the first write.
        if "Ravensbruck" in content:
            later.wait(0.3)
        notes_files.write_notes(path, content)
        later.set()

    monkeypatch.setattr(service_notes, "write_notes", write)

    await asyncio.gather(setting.notes.drop("Bonhoeffer"), setting.notes.drop("Ravensbruck"))
    kept = read_notes(setting.recorder.folder / "notes.toml")
    assert kept.names == setting.commands.console().notes.names == ("Zwingenberger",)
