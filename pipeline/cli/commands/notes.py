"""`notes`: read names and verses from a preacher's notes, for the next service only."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from pipeline.church.notes.notes import Notes, joined, written
from pipeline.church.notes.notes_files import NOTES, content_of, draw_out, read_notes, write_notes
from pipeline.cli.options import Commands, add_command, add_group, add_sessions, path, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import NotesError, writing
from pipeline.dictionary.store import Dictionary

_SAYS = "Read names and verses from sermon notes, for the next service."
_EPILOG = """\
examples:
  stark-translate notes add sermon.docx     .docx, .pdf, .md or .txt; several add up
  stark-translate notes show                what was drawn out; the file may be corrected
  stark-translate notes remove              before the service, if it is cancelled

Nothing leaves the machine. The service that begins next takes the notes into its session's folder,
and they are removed with it. A session in which nobody speaks gives them back.
"""


def add(commands: Commands) -> None:
    whats = add_group(commands, "notes", _SAYS, _EPILOG, "what")
    adding = add_command(whats, "add", _add, "Read notes, and show what is drawn out of them.")
    adding.add_argument("files", nargs="+", metavar="FILE", type=path)
    showing = add_command(whats, "show", _show, "Show what the next service will know.")
    for part in (adding, showing, add_command(whats, "remove", _remove, "Forget it.")):
        add_sessions(part)


def _place(settings: Settings) -> Path:
    return Path(settings.session.directory) / NOTES


def _add(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    place = _place(settings)
    lang, known = settings.translate.source, Dictionary(settings).known_names
    # New files are added; the notes so far may have been corrected by hand.
    notes = [read_notes(place)] if place.exists() else []
    # All are read before anything is written: an unreadable one changes nothing.
    notes += [
        asyncio.run(draw_out(content_of(file), str(file), lang, known)) for file in arguments.files
    ]
    whole = joined(notes)
    write_notes(place, written(whole, ", ".join(file.name for file in arguments.files)))
    _print(whole)
    print(f"\nWrong or missing? Correct {place} before the service begins.")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    _print(read_notes(_place(settings_of(arguments).settings)))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    place = _place(settings_of(arguments).settings)
    with writing(place, NotesError, "notes-unwritable"):
        try:
            # No check first whether it exists: a service that begins may take it in between.
            place.unlink()
        except FileNotFoundError:
            raise NotesError("notes-missing", f"{place}: there are no notes.") from None
    print("The next service knows nothing beforehand.")
    return 0


def _print(notes: Notes) -> None:
    for name in ("names", "verses", "numbers", "terms"):
        found = getattr(notes, name)
        print(f"{name.capitalize():8} {', '.join(found) if found else 'none'}")
