"""The notes of a service: taken into its folder when it begins, and told to the parts."""

from __future__ import annotations

from pathlib import Path

import structlog

from pipeline.church.notes import Notes, references, renderings
from pipeline.church.notes_files import NOTES, read_notes
from pipeline.core.errors import DictionaryError, NotesError
from pipeline.core.types import Mode
from pipeline.daemon.context import DaemonContext
from pipeline.dictionary.near_names import near_names

log = structlog.get_logger()


def take_notes(directory: Path, session: Path, mode: Mode) -> Notes:
    """Return the notes of a session, none if it has none; a service takes those that wait.

    A rehearsal leaves them where they are. Broken notes are logged: the service goes on without.
    """
    waiting, own = directory / NOTES, session / NOTES
    try:
        if mode == "live" and waiting.exists() and not own.exists():
            waiting.replace(own)
        place = own if own.exists() or mode == "live" else waiting
        return read_notes(place) if place.exists() else Notes()
    except (NotesError, OSError) as error:
        log.warning("no notes", error=str(error))
        return Notes()


def use_notes(notes: Notes, context: DaemonContext, lang: str) -> None:
    """Have names written and words translated as the notes say, and their verses suggested."""
    if notes.names:
        context.dictionary.names = near_names(notes.names, notes.words)
    context.verses.expect(references(notes, lang))
    for say, write in renderings(notes):
        try:
            context.dictionary.glossaries.hold(context.board.target, say, write)
        except DictionaryError as error:
            log.warning("no such translation", say=say, write=write, error=str(error))
    if notes != Notes():
        log.info("notes", names=len(notes.names), verses=len(notes.verses))
