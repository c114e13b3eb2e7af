"""The notes of a service: moved to its folder at the start, extended by operators, and used.

Belongs to the event loop's thread; files are read in a separate process.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable
from pathlib import Path

import structlog

from pipeline.church.notes.notes import Notes, joined, references, renderings, without, written
from pipeline.church.notes.notes_files import NOTES, draw_out, read_notes, write_notes
from pipeline.core.errors import DictionaryError, NotesError, ProtocolError
from pipeline.core.types import Mode
from pipeline.daemon.context.context import DaemonContext
from pipeline.dictionary.glossary import Term, make_term
from pipeline.dictionary.near_names import near_names
from pipeline.protocol.commands import AddNotesCommand
from pipeline.protocol.messages import NotesMessage
from pipeline.session.retention import give_back_left_notes

log = structlog.get_logger()


def find_notes(directory: Path, session: Path, mode: Mode) -> Notes:
    """Return a session's notes, else the waiting notes, else empty ones.

    A demonstration does not use waiting notes. Broken notes are logged, and the service continues
    without them.
    """
    if mode == "demo":
        return Notes()
    waiting, own = directory / NOTES, session / NOTES
    try:
        # A start that was killed before any speech may have taken them: this session gets them.
        give_back_left_notes(directory, session)
        place = own if own.exists() else waiting
        return read_notes(place) if place.exists() else Notes()
    except (NotesError, OSError) as error:
        log.warning("no notes", error=str(error))
        return Notes()


def move_notes(waiting: Path, own: Path) -> None:
    """Move waiting notes into a session: they are for one service only."""
    try:
        if own.exists():  # the session has them, with the operators' additions
            waiting.unlink(missing_ok=True)
        elif waiting.exists():
            waiting.replace(own)
    except OSError as error:
        log.warning("notes not taken", error=str(error))


class ServiceNotes:
    """Notes in use: they give names to write, translations of words, and verses to suggest."""

    def __init__(self, context: DaemonContext, directory: Path, lang: str) -> None:
        """Use the session's notes, or those that wait in `directory`, the sessions' folder.

        `lang` is the spoken language. In a rehearsal, added notes wait there for the service.
        """
        self._dictionary = context.dictionary
        self._verses = context.targets[0].verses
        self._operators = context.hub.operators
        self._target = context.targets[0].lang
        self._lang = lang
        session, mode = context.recorder.folder, context.facts.mode
        self._place = (session if mode == "live" else directory) / NOTES
        waiting = directory / NOTES
        self._waiting = waiting if mode == "live" and not self._place.exists() else None
        # A demonstration's notes are never written: a service would find them.
        self._is_kept = mode != "demo"
        self._upload = bytearray()
        self._uploaded = ("", 0)
        """Name and size of the file that is being added."""
        self._reading = asyncio.Lock()  # one file at a time: each may use a whole core
        self._writing = asyncio.Lock()
        self._terms: list[Term] = []
        self._notes = Notes()
        self.use(find_notes(directory, session, mode))

    def take_up(self) -> None:
        """Move waiting notes into a service's session; a rehearsal leaves them."""
        if self._waiting is not None:
            move_notes(self._waiting, self._place)

    @property
    def message(self) -> NotesMessage:
        """The message for the operators."""
        notes = self._notes
        return NotesMessage(
            names=notes.names, verses=notes.verses, numbers=notes.numbers, terms=notes.terms
        )

    def use(self, notes: Notes) -> None:
        """Use these notes instead of the current ones."""
        self._notes = notes
        self._dictionary.names = near_names(notes.names, notes.words) if notes.names else None
        self._verses.expect(references(notes, self._lang))
        terms = [term for pair in renderings(notes) if (term := _term(*pair))]
        # A broken pair only costs itself; if the glossary is off, all are left out.
        try:
            self._dictionary.glossaries.exchange(self._target, self._terms, terms)
        except DictionaryError as error:
            log.warning("no translations", error=str(error))
        self._terms = terms
        if notes != Notes():
            log.info("notes", names=len(notes.names), verses=len(notes.verses))

    def add(self, part: AddNotesCommand) -> Awaitable[None] | None:
        """Add a part of a file; after the last, return an awaitable that extracts and uses notes.

        Raises ProtocolError.
        """
        # A page that was closed during an upload has left an incomplete one.
        file = part.file, part.size
        if part.at == 0:
            self._upload, self._uploaded = bytearray(), file
        # Another file: two pages add one at the same time.
        if part.at != len(self._upload) or file != self._uploaded:
            raise ProtocolError("notes-incomplete", f"A part of {part.file} is missing: add again.")
        try:
            self._upload += base64.b64decode(part.data, validate=True)
        except binascii.Error:
            raise ProtocolError("bad-field", "data is Base64.") from None
        if len(self._upload) < part.size:
            return None
        # Even if this file fails, the next one begins with an empty buffer.
        content, self._upload = bytes(self._upload), bytearray()
        if len(content) > part.size:
            raise ProtocolError("bad-field", "size is that of the whole file.")
        return self._draw(part.file, content)

    async def _draw(self, file: str, content: bytes) -> None:
        try:
            async with self._reading:
                found = await draw_out(content, file, self._lang, self._dictionary.known_names)
            await self._keep(joined((self._notes, found)))
        except NotesError as error:
            raise ProtocolError(error.code, f"{error.message} {error.fix}".rstrip()) from None

    async def drop(self, entry: str) -> None:
        """Remove an entry that was extracted wrongly. Raises ProtocolError."""
        notes = without(self._notes, entry)
        if notes == self._notes:
            raise ProtocolError("unknown-note", f"The notes do not have {entry!r}.")
        try:
            await self._keep(notes)
        except NotesError as error:
            raise ProtocolError(error.code, f"{error.message} {error.fix}".rstrip()) from None

    async def _keep(self, notes: Notes) -> None:
        # Before the write: if the disk is full, the service still knows the names.
        self.use(notes)
        # To all pages: several may be open.
        self._operators.tell(self.message)
        if not self._is_kept:
            return
        # One at a time, each with the current notes: threads may end in another order.
        async with self._writing:
            content = written(self._notes, "notes at the desk")
            await asyncio.to_thread(write_notes, self._place, content)


def _term(say: str, write: str) -> Term | None:
    try:
        return make_term(say, write)
    except DictionaryError as error:
        log.warning("no such translation", say=say, write=write, error=str(error))
        return None
