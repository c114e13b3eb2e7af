"""Sessions that are over: finding their folders and reading what was kept in them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pipeline.core.errors import ProtocolError, SessionError
from pipeline.protocol.codec import Message, parse_caption
from pipeline.protocol.fields import read_object

JOURNAL = "captions.jsonl"
RECORDS = "diagnostics.jsonl"
STAMP = "%Y-%m-%dT%H-%M-%S"
"""How a session's folder is named: its start in UTC, perhaps with a number behind it."""
_LISTED = 8

T = TypeVar("T")


def find_session(name: str, directory: Path) -> Path:
    """Return the folder of a session: a path, a name in `directory`, or the "last" one there.

    The last is the newest that has captions: a start that failed leaves a session too.
    Raises SessionError (session-missing) whose fix lists the sessions that there are.
    """
    there = sessions(directory)
    if name == "last" and there:
        spoken = [folder for folder in there if (folder / JOURNAL).stat().st_size]
        return (spoken or there)[-1]
    for folder in (directory / name, Path(name)):
        if name and (folder / JOURNAL).is_file():
            return folder
    if not there:
        fix = "No session is kept there; --sessions or session.directory names another folder."
    else:
        names = ", ".join(folder.name for folder in there[-_LISTED:])
        fix = f"The newest are: {names}." if len(there) > _LISTED else f"There are: {names}."
    raise SessionError("session-missing", f"There is no session {name!r} in {directory}.", fix)


def sessions(directory: Path) -> list[Path]:
    """Return the sessions in a folder, the newest last. None if it cannot be read."""
    try:
        folders = [folder for folder in directory.iterdir() if (folder / JOURNAL).is_file()]
    except OSError:
        return []
    return sorted(folders, key=lambda folder: folder.name)


def start_utc(name: str) -> datetime | None:
    """Return when the session of this name was started, None if the name does not say."""
    try:
        return datetime.strptime(name[:19], STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def read_journal(folder: Path) -> list[Message]:
    """Return all versions of all final captions, as written. Raises SessionError."""
    return read_lines(folder / JOURNAL, parse_caption)


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of diagnostics.jsonl, as written. Raises SessionError."""
    return read_lines(folder / RECORDS, _record)


def read_lines(path: Path, parse: Callable[[bytes], T]) -> list[T]:
    """Return the lines of a file, each parsed. The last one may be torn: the daemon died over it.

    `parse` raises ProtocolError; then this raises SessionError.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise SessionError("session-unreadable", f"{path}: {error.strerror}.") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    made: list[T] = []
    for number, line in numbered:
        try:
            made.append(parse(line))
        except ProtocolError as error:
            if number == numbered[-1][0]:
                break
            message = f"{path}, line {number}: {error.message}"
            fix = "Delete that line, or restore the file from a copy."
            raise SessionError("session-unreadable", message, fix) from None
    return made


def _record(line: bytes) -> dict[str, Any]:
    fields = read_object(line)
    if not isinstance(fields.get("type"), str):
        raise ProtocolError("bad-field", "type is a string.")
    return fields
