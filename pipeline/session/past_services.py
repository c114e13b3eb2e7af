"""Past services to read and to download: their list, their texts, their files.

Listing reads only the end of each file, because a church may have hundreds of sessions and the list
is requested while a service runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pipeline.captions.export import (
    DOCX,
    FORMATS,
    WHICH,
    export_file,
    paragraph_text,
    paragraphs,
)
from pipeline.captions.redaction import MARK
from pipeline.captions.subtitles import languages, newest
from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.types import Mode
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_caption
from pipeline.protocol.past_services import Download, PastService, ReadParagraph, ReadService
from pipeline.records.health import HealthRecord
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.reader import (
    JOURNAL,
    RECORDS,
    extra_targets,
    left_out,
    parse_record,
    read_journal,
    sessions,
    started,
)

DASHBOARD = "dashboard.html"
"""The file that `stark-translate dashboard` writes next to the sessions."""
_TAIL_BYTES = 16 * 1024  # the last captions, or the last records, each of which has the mode
_MORE = 16
_UNSAFE = re.compile(r"[^A-Za-z0-9.+_-]+")

T = TypeVar("T")


class PastServices:
    """The services in a folder of sessions, without the running one."""

    def __init__(self, directory: Path, *, running: str = "") -> None:
        """`running` is the name of the session that is not over yet."""
        self._directory = directory
        self._running = running
        # Needs no lock: `PastRoutes` calls it from one thread only.
        self._known: dict[str, tuple[tuple[int, int], PastService | None]] = {}

    def listed(self) -> list[PastService]:
        """Return the services in which something was said, the newest first."""
        found = map(self._described, reversed(self._folders()))
        return [service for service in found if service]

    def mode_of(self, name: str) -> Mode:
        """Return the mode of a service. Raises SessionError (session-missing)."""
        return _mode(self._folder(name))

    def read(self, name: str, lang: str = "") -> ReadService:
        """Return a service's texts. Raises SessionError (session-missing, -unreadable, -empty)."""
        folder = self._folder(name)
        service = self._described(folder)
        captions = newest(_journal(folder, service, lang))
        if service is None or not captions:
            raise _nothing_said(folder)
        service = replace(service, target=lang or service.target)
        read = [
            ReadParagraph(
                start_s=round(paragraph[0].start_s, 2),
                source=paragraph_text(paragraph, "source"),
                target=paragraph_text(paragraph, "target"),
            )
            for paragraph in paragraphs(captions)
        ]
        return ReadService(service=service, paragraphs=tuple(read), left_out=left_out(folder))

    def download(self, name: str, which: str, form: str, lang: str = "") -> Download:
        """Return a service as a file: `which` of its texts, in a format of `export`.

        Raises SessionError (session-missing, -unreadable, -empty, export-format).
        """
        if which not in WHICH or form not in {*FORMATS, DOCX}:
            known = ", ".join((*FORMATS, DOCX))
            raise SessionError(
                "export-format",
                f"There is no file {which}.{form} of a service.",
                f"There are {', '.join(WHICH)}, each as {known}.",
            )
        folder = self._folder(name)
        messages = _journal(folder, self._described(folder), lang)
        captions = newest(messages)
        if not captions:
            raise _nothing_said(folder)
        content = export_file(messages, form, which, title_of(folder.name))
        langs = languages(captions)
        spoken = "-".join(langs.values()) if which == "both" else langs[which]
        named = f"{folder.name}.{spoken}.{form}"
        return Download(_UNSAFE.sub("_", named), content)

    def dashboard(self) -> bytes:
        """Return the page of all services as it was last made.

        Making it now would take too much time from a running service. Raises SessionError
        (dashboard-missing).
        """
        try:
            return (self._directory / DASHBOARD).read_bytes()
        except OSError:
            raise SessionError(
                "dashboard-missing",
                "The page of all services is not made yet.",
                "Run `stark-translate dashboard`; the timer of `learn` makes it every Monday.",
            ) from None

    def _described(self, folder: Path) -> PastService | None:
        """Return a session's entry in the list, read again only if its journal has changed."""
        try:
            found = (folder / JOURNAL).stat()
        except OSError:  # just removed
            return None
        stamp = found.st_mtime_ns, found.st_size
        known = self._known.get(folder.name)
        if known is None or known[0] != stamp:
            # By time and size: a purge or an edit changes both, and no file is read in vain.
            known = self._known[folder.name] = stamp, _described(folder)
        return known[1]

    def _folders(self) -> list[Path]:
        # Sessions whose files may still hold text that is off the record are left out.
        found = [each for each in sessions(self._directory) if each.name != self._running]
        return [each for each in found if not (each / MARK).exists()]

    def _folder(self, name: str) -> Path:
        # Compared with existing names and never joined to a path: no name can leave the folder.
        for folder in self._folders():
            if folder.name == name:
                return folder
        message = f"There is no service {name!r} that is over."
        raise SessionError("session-missing", message, "Reload the list of services.")


def title_of(name: str) -> str:
    """Return the local date of a session as a title, or its name if that has no date."""
    began = started(name)
    return f"{began:%d %B %Y}".lstrip("0") if began else name


def _described(folder: Path) -> PastService | None:
    """Return a session's entry in the list, None if nothing was said in it."""
    captions = list(_tail(folder / JOURNAL, parse_caption))
    if not captions:
        return None
    began = started(folder.name)
    langs = [(each.source.lang, each.target.lang) for each in captions]
    # A caption that was left untranslated, or was spoken in the readers' language, names one only.
    source, target = next((pair for pair in langs if pair[0] != pair[1]), langs[0])
    return PastService(
        name=folder.name,
        began=began.isoformat() if began else "",
        # Not the end of the last line: an edit writes an early caption again, at the end.
        length_s=round(max(caption.end_s for caption in captions), 1),
        source=source,
        target=target,
        targets=(target, *extra_targets(folder)),
        mode=_mode(folder),
    )


def _journal(folder: Path, service: PastService | None, lang: str) -> list[CaptionMessage]:
    """Return the captions in a language, "" for the first one. Raises SessionError."""
    if service is None or lang in ("", service.target):
        return read_journal(folder)
    if lang not in service.targets:
        message = f"There are no captions of {folder.name} in {lang!r}."
        raise SessionError("session-missing", message, f"There are {', '.join(service.targets)}.")
    return read_journal(folder, lang)


def _mode(folder: Path) -> Mode:
    """Return the mode in the session's last records, "dry-run" if they have none."""
    for record in _tail(folder / RECORDS, _with_mode):
        return record.mode
    # Without readable records it may have been a rehearsal, which nobody is shown.
    return "dry-run"


def _with_mode(line: bytes) -> UtteranceRecord | HealthRecord:
    # Any other record counts as damaged, so that `_tail` reads on: the summary at the end has no
    # mode, and may be as long as the first block that is read.
    record = parse_record(line)
    if isinstance(record, UtteranceRecord | HealthRecord):
        return record
    raise ProtocolError("unknown-type", "This record names no mode.")


def _tail(file: Path, parse: Callable[[bytes], T]) -> Iterator[T]:
    """Yield the last lines of a file, parsed, the last first; nothing if it cannot be read.

    A damaged last line may be longer than the block that is read: then a larger one is read.
    """
    size, taken, is_found = 1, 0, False
    try:
        while not is_found and taken < size:
            # 16 KiB, then 256, then 4096: a line of any length is found in a few steps.
            size, taken = file.stat().st_size, (taken or _TAIL_BYTES // _MORE) * _MORE
            with file.open("rb") as opened:
                opened.seek(max(0, size - taken))
                lines = opened.read(taken).split(b"\n")
            # The first line of the block is incomplete.
            for line in reversed(lines[1:] if size > taken else lines):
                with suppress(ProtocolError):  # `read` reports a damaged line, with its number
                    parsed = parse(line)
                    is_found = True
                    yield parsed
    except OSError:
        return


def _nothing_said(folder: Path) -> SessionError:
    message = f"Nothing was said in {folder.name}: there is nothing to read."
    return SessionError("session-empty", message, "Choose another service.")
