"""Find past sessions and read their files.

Records are read as the types that they were written as. A field that a later version adds to one
of these types has a default, so that older sessions can still be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter

from pipeline.captions.subtitles import Side, languages, newest
from pipeline.core.errors import ProtocolError, SessionError
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_caption, parse_json
from pipeline.records.comparison import CompareRecord
from pipeline.records.events import EndEvent, EventRecord, Record
from pipeline.records.health import HealthRecord
from pipeline.records.summary import SummaryRecord
from pipeline.records.utterance import UtteranceRecord

JOURNAL = "captions.jsonl"
RECORDS = "diagnostics.jsonl"
STAMP = "%Y-%m-%dT%H-%M-%S"
"""The name of a session's folder: its start in UTC; a number may follow."""
_LISTED = 8

T = TypeVar("T")
_Event: TypeAlias = Annotated[EventRecord, Field(discriminator="event")]
_LINE: TypeAdapter[Record | SummaryRecord] = TypeAdapter(
    Annotated[
        UtteranceRecord | CompareRecord | HealthRecord | SummaryRecord | _Event,
        Field(discriminator="type"),
    ],
    config=ConfigDict(allow_inf_nan=False),  # JSON has none: such a line is damaged
)


class Session:
    """The files of one session, each read when it is first needed.

    Every property may raise SessionError (session-unreadable), which names the file and the line.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @cached_property
    def messages(self) -> list[CaptionMessage]:
        """All versions of all final captions, as written."""
        return read_journal(self.folder)

    @cached_property
    def captions(self) -> list[CaptionMessage]:
        """The newest version of each caption by id, hidden ones left out."""
        return newest(self.messages)

    @cached_property
    def langs(self) -> dict[Side, str]:
        """The language of each side."""
        default: dict[Side, str] = {"source": "en", "target": "es"}
        return default | languages(self.captions)

    @cached_property
    def records(self) -> list[Record]:
        """The diagnostics, as written."""
        return read_records(self.folder)

    @cached_property
    def utterances(self) -> list[UtteranceRecord]:
        """Records of all utterances, also of those that were not shown."""
        return [record for record in self.records if isinstance(record, UtteranceRecord)]

    @cached_property
    def shown(self) -> list[UtteranceRecord]:
        """Records of utterances that have a caption."""
        return [record for record in self.utterances if record.final is not None]

    @cached_property
    def by_id(self) -> dict[int, UtteranceRecord]:
        """Records of utterances by id."""
        return {record.id: record for record in self.utterances}

    @cached_property
    def compares(self) -> list[CompareRecord]:
        """Records of second finals."""
        return [record for record in self.records if isinstance(record, CompareRecord)]

    @cached_property
    def health(self) -> list[HealthRecord]:
        """The health records, in order of time."""
        return [record for record in self.records if isinstance(record, HealthRecord)]

    @cached_property
    def events(self) -> list[EventRecord]:
        """The events, in order of time."""
        return [record for record in self.records if record.type == "event"]

    @property
    def heard_s(self) -> float | None:
        """Seconds of audio heard; None if the session did not end cleanly."""
        ends = [event.audio_s for event in self.events if isinstance(event, EndEvent)]
        return ends[-1] if ends else None

    @property
    def dropped(self) -> Mapping[str, int]:
        """Counts of what was lost or given up, by kind; {} without a health record."""
        return asdict(self.health[-1].dropped) if self.health else {}


def find_session(name: str, directory: Path) -> Path:
    """Return the folder of a session: a path, a name in `directory`, or the "last" one there.

    "last" is the newest that has captions, since a failed start leaves a folder as well.
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
    """Return the sessions in a folder, the newest last; none if it cannot be read."""
    try:
        folders = [folder for folder in directory.iterdir() if (folder / JOURNAL).is_file()]
    except OSError:
        return []
    return sorted(folders, key=lambda folder: folder.name)  # the names begin with the time


def start_utc(name: str) -> datetime | None:
    """Return the start of a session from its name, None if the name has another form."""
    try:
        return datetime.strptime(name[:19], STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def read_journal(folder: Path) -> list[CaptionMessage]:
    """Return all versions of all final captions, as written. Raises SessionError."""
    return read_lines(folder / JOURNAL, parse_caption)


def read_records(folder: Path) -> list[Record]:
    """Return the records of diagnostics.jsonl but for its summary. Raises SessionError.

    Those of a type or of an event that this version does not know are left out.
    """
    every = read_lines(folder / RECORDS, parse_record)
    return [record for record in every if not (record is None or record.type == "summary")]


def parse_record(line: str | bytes) -> Record | SummaryRecord | None:
    """Parse a line of diagnostics.jsonl; None for a type or an event that is unknown here.

    Raises ProtocolError (bad-json, bad-field).
    """
    try:
        return parse_json(_LINE, line)
    except ProtocolError as error:
        if error.code == "unknown-type":
            return None
        raise


def read_lines(path: Path, parse: Callable[[bytes], T]) -> list[T]:
    """Return the parsed lines of a file, without a last line that is incomplete.

    `parse` may raise ProtocolError; for any line but the last this raises SessionError.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise SessionError("session-unreadable", f"{path}: {error.strerror}.") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    parsed: list[T] = []
    for number, line in numbered:
        try:
            parsed.append(parse(line))
        except ProtocolError as error:
            if number == numbered[-1][0]:
                break  # the daemon was killed while it wrote this line
            message = f"{path}, line {number}: {error.message}"
            fix = "Delete that line, or restore the file from a copy."
            raise SessionError("session-unreadable", message, fix) from None
    return parsed
