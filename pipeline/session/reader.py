"""Find past sessions and read their files.

Each record is read as the type that it was written as. A field that a later version adds has a
default, so that older sessions stay readable. A line that cannot be read, for example from a
failing disk, is left out: it must not make the rest of the session unreadable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import structlog
from pydantic import ConfigDict, Field, TypeAdapter

from pipeline.captions.subtitles import Side, languages, newest
from pipeline.core.errors import ProtocolError, SessionError, reading
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_caption, parse_json
from pipeline.records.events import EndEvent, EventRecord, Record
from pipeline.records.health import HealthRecord
from pipeline.records.summary import SummaryRecord, dropped_totals
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord

log = structlog.get_logger()

JOURNAL = "captions.jsonl"
RECORDS = "diagnostics.jsonl"
STAMP = "%Y-%m-%dT%H-%M-%S"
"""Format of a session folder's name: the local start time, its offset from UTC such as -0600
unless that is 0, and perhaps a number.
"""
# Four digits are an offset; the number of a second folder has fewer.
_NAMED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)([+-]\d{4})?(?=-\d+$|$)")
_DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %B %Y", "%B %d %Y", "%B %d, %Y")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LISTED = 8  # sessions or lines that a message names
_damaged: dict[Path, tuple[int, ...]] = {}
"""Files of sessions with damaged lines, and the numbers of these lines. Any thread may read."""

T = TypeVar("T")
_Event: TypeAlias = Annotated[EventRecord, Field(discriminator="event")]
_LINE: TypeAdapter[Record | SummaryRecord] = TypeAdapter(
    Annotated[
        UtteranceRecord | TranslationRecord | CompareRecord | HealthRecord | SummaryRecord | _Event,
        Field(discriminator="type"),
    ],
    config=ConfigDict(allow_inf_nan=False),  # JSON has none: such a line is damaged
)


class Session:
    """The files of one session, each read when it is first needed.

    Every property may raise SessionError (session-unreadable), which names the file.
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
        # A session without captions does not say its languages.
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

    @property
    def is_demo(self) -> bool:
        """Whether all that was shown is the demo's."""
        # `all` of an empty list is true, but a service without captions is no demo.
        return bool(self.shown) and all(record.mode == "demo" for record in self.shown)

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
        """Counts of dropped items by kind, of all runs; {} without a health record."""
        return dropped_totals(self.records)


def find_session(name: str, directory: Path) -> Path:
    """Return the folder of a session, given as a path, a name in `directory`, "last", or a day.

    A day is "2026-11-22", "22.11.2026", "11/22/2026", "today", "yesterday", "sunday" or "last
    sunday". "last" is the newest one with captions: a start that failed leaves a session too.
    Raises SessionError (session-missing, session-ambiguous) whose fix lists existing sessions.
    """
    existing = sessions(directory)
    if name == "last" and existing:
        spoken = [folder for folder in existing if (folder / JOURNAL).stat().st_size]
        return (spoken or existing)[-1]
    # A name in the folder of sessions comes before a path of the same name.
    for folder in (directory / name, Path(os.path.expanduser(name))):  # noqa: PTH111 - never raises
        if name and _is_session(folder):
            return folder
    if found := of_day(name, existing, date.today()):  # noqa: DTZ011 - the church's own day
        spoken = [folder for folder in found if (folder / JOURNAL).stat().st_size]
        if len(spoken) <= 1:
            return (spoken or found)[-1]
        names = ", ".join(folder.name for folder in spoken)
        message = f"There are {len(spoken)} sessions of {name!r} in {directory}."
        raise SessionError("session-ambiguous", message, f"Name one of them: {names}.")
    if not existing:
        fix = "No session is kept there; --sessions or session.directory names another folder."
    # No session's name ends in letters: in `export sunday.srt` it is the output file.
    elif Path(name).suffix[1:].isalpha():
        fix = f"If that is the file to write: --out {name}."
    else:
        names = ", ".join(folder.name for folder in existing[-_LISTED:])
        fix = f"The newest are: {names}." if len(existing) > _LISTED else f"There are: {names}."
    raise SessionError(
        "session-missing", f"There is no session {name!r} in {directory.absolute()}.", fix
    )


def sessions(directory: Path) -> list[Path]:
    """Return the sessions in a folder, the newest last; none if it cannot be read."""
    try:
        folders = list(filter(_is_session, directory.iterdir()))
    except OSError:
        return []
    first = datetime.min.replace(tzinfo=UTC)
    # By time and not by name: when clocks go back, the names do as well.
    return sorted(folders, key=lambda folder: (started(folder.name) or first, folder.name))


def _is_session(folder: Path) -> bool:
    # Not `Path.is_file`: it raises for a folder that nobody may read, such as a disk's lost+found,
    # and one such folder would hide all sessions.
    return os.path.isfile(folder / JOURNAL)  # noqa: PTH113 - never raises


def session_name(started_utc: datetime) -> str:
    """Return the name of a session that starts at this time, by the machine's local clock."""
    here = started_utc.astimezone()
    return here.strftime(STAMP if not here.utcoffset() else f"{STAMP}%z")


def started(name: str) -> datetime | None:
    """Return the local start time, with its offset, of the session of this name.

    None if the name has no valid time.
    """
    stamp = _NAMED.match(name)
    if stamp is None:
        return None
    try:
        return datetime.strptime(stamp[1] + (stamp[2] or "+0000"), f"{STAMP}%z")
    except ValueError:
        return None


def of_day(words: str, folders: Iterable[Path], today: date) -> list[Path]:
    """Return the sessions of a day, by their local dates; none if the words name no day.

    A weekday means the latest one that has a session with captions. A month means that of the
    latest year that has a session in it. "last week" begins on Monday.
    """
    asked = words.strip().lower().removeprefix("last ")
    days: dict[date, list[Path]] = {}
    for folder in folders:
        if began := started(folder.name):
            days.setdefault(began.date(), []).append(folder)
    # A day with only empty sessions, from failed starts, is not the Sunday that is meant.
    if asked in _WEEKDAYS:
        matching = [
            day
            for day, group in days.items()
            if day.weekday() == _WEEKDAYS.index(asked)
            and any((folder / JOURNAL).stat().st_size for folder in group)
        ]
        return days[max(matching)] if matching else []
    named = {"today": [today], "yesterday": [today - timedelta(days=1)]}
    monday = today - timedelta(days=today.weekday() + 7)
    named["week"] = [monday + timedelta(days=day) for day in range(7)]
    months = [day for day in sorted(days) if asked in (f"{day:%B}".lower(), f"{day:%B %Y}".lower())]
    named[asked] = named.get(asked) or [d for d in months if d.year == months[-1].year]
    return [each for day in named[asked] or _dates(asked) for each in days.get(day, [])]


def _dates(words: str) -> list[date]:
    """Return the days that a date may mean: 3/4/2026 is in March or in April."""
    found: dict[date, None] = {}
    for form in _DATES:
        with suppress(ValueError):
            found[datetime.strptime(words, form).date()] = None  # noqa: DTZ007 - a day only
    return list(found)


def start_utc(name: str) -> datetime | None:
    """Return when the session of this name was started, in UTC; None if the name has no time."""
    began = started(name)
    return began.astimezone(UTC) if began else None


def journal_name(lang: str = "") -> str:
    """Return the name of the journal of an extra target, or without `lang` of the first target."""
    return f"captions.{lang}.jsonl" if lang else JOURNAL


def extra_targets(folder: Path) -> list[str]:
    """Return the target languages, without the first one, in which a session has captions."""
    # No language code has a dot: `captions.fr.old.jsonl` is somebody's copy.
    names = (path.name.split(".") for path in folder.glob("captions.*.jsonl"))
    return sorted(name[1] for name in names if len(name) == len(("captions", "fr", "jsonl")))


def read_journal(folder: Path, lang: str = "") -> list[CaptionMessage]:
    """Return all versions of all final captions, as written. Raises SessionError.

    `lang`: the extra target; without it, the first target's.
    """
    return read_session_lines(folder / journal_name(lang), parse_caption)


def read_records(folder: Path) -> list[Record]:
    """Return the records of diagnostics.jsonl without its summary. Raises SessionError.

    Records of a type or event that this version does not know are left out.
    """
    every = read_session_lines(folder / RECORDS, parse_record)
    return [record for record in every if not (record is None or record.type == "summary")]


def parse_record(line: str | bytes) -> Record | SummaryRecord | None:
    """Parse a line of diagnostics.jsonl; None for a type or an event that is unknown here.

    Raises ProtocolError (bad-json, bad-field).
    """
    try:
        return parse_json(_LINE, line)
    except ProtocolError as error:
        if error.code == "unknown-type":  # written by a later version
            return None
        raise


def read_lines(path: Path, parse: Callable[[bytes], T]) -> list[T]:
    """Return the parsed lines of a file, without a last line that is incomplete.

    `parse` may raise ProtocolError; for any line but the last this raises SessionError.
    """
    parsed, damaged = _parse_lines(path, parse)
    if damaged:
        raise _unreadable(path, *next(iter(damaged.items())))
    return parsed


def read_session_lines(path: Path, parse: Callable[[bytes], T]) -> list[T]:
    """Return the parsed lines of a session's file; damaged ones are left out and logged once.

    `left_out` lists them. Raises SessionError if nothing in the file can be read.
    """
    parsed, damaged = _parse_lines(path, parse)
    if damaged and not parsed:
        raise _unreadable(path, *next(iter(damaged.items())))
    numbers = tuple(damaged)
    if numbers and _damaged.get(path) != numbers:
        lines = _listed(numbers)
        log.warning("lines left out", file=str(path), count=len(numbers), lines=lines)
    if numbers:
        _damaged[path] = numbers
    else:
        _damaged.pop(path, None)
    return parsed


def left_out(folder: Path) -> tuple[str, ...]:
    """Return which damaged lines of a session's files were left out when they were last read.

    For people: the file's name and the numbers of the lines, such as "captions.jsonl: 3, 7".
    """
    # A copy, made in one step: another thread may be reading a session.
    found = [(path.name, lines) for path, lines in [*_damaged.items()] if path.parent == folder]
    return tuple(f"{name}: {_listed(lines)}" for name, lines in sorted(found))


def _listed(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    return ", ".join(map(str, lines[:_LISTED])) + more


def _parse_lines(
    path: Path, parse: Callable[[bytes], T]
) -> tuple[list[T], dict[int, ProtocolError]]:
    """Return the parsed lines of a file, and the errors of damaged lines by line number."""
    with reading(path, SessionError, "session-unreadable"):
        lines = path.read_bytes().split(b"\n")
    # Numbered before empty lines are dropped: people find a line by its number in the file.
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    parsed: list[T] = []
    damaged: dict[int, ProtocolError] = {}
    for number, line in numbered:
        try:
            parsed.append(parse(line))
        except ProtocolError as error:
            if number != numbered[-1][0]:  # otherwise the daemon was killed while writing this line
                damaged[number] = error
    return parsed, damaged


def _unreadable(path: Path, number: int, error: ProtocolError) -> SessionError:
    message = f"{path}, line {number}: {error.message}"
    return SessionError(
        "session-unreadable", message, "Delete that line, or restore the file from a copy."
    )
