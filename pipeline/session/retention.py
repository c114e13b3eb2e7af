"""Delete sessions that are too old, then the oldest while the total size is too large.
Also delete sessions of failed starts, or in which nothing happened.

Off by default, since no sermon may be deleted unasked. A session that a daemon is writing, such as
the running one, is never deleted.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from pipeline.church.notes.notes import joined, written
from pipeline.church.notes.notes_files import NOTES, read_notes, write_notes
from pipeline.config.section import Session as SessionSettings
from pipeline.core.errors import NotesError, SessionError
from pipeline.records.events import BrokenEvent, FaultEvent
from pipeline.session.reader import JOURNAL, read_records, sessions, start_utc
from pipeline.session.resume import in_use, is_empty, is_untouched

log = structlog.get_logger()

_CLOCK_WRONG = timedelta(days=366)
# The names that make_folder gives. Any other folder there is not ours and must stay.
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d([+-]\d{4})?(-\d+)?")


def prune(keeping: SessionSettings, running: Path, now_utc: datetime) -> list[Path]:
    """Delete the sessions beside `running` past the limits; return them, the oldest first.

    `running` is kept whatever its age and size, but its size counts. A session that cannot be
    deleted is logged and left.
    """
    keep_days, keep_mb = keeping.keep_days, keeping.keep_mb  # 0: no limit
    dated = [(folder, _started(folder)) for folder in sessions(running.parent)]
    ours = [(folder, started) for folder, started in dated if started is not None]
    removed = []
    # Only if the settings need it, since it reads the size of every file.
    used = sum(_size(folder) for folder, _ in ours) if keep_mb else 0
    others = [started for folder, started in ours if folder != running]
    oldest_utc = _oldest(others, now_utc, timedelta(days=keep_days)) if keep_days else None
    for folder, started_utc in ours:
        too_old = oldest_utc is not None and started_utc < oldest_utc
        too_much = keep_mb > 0 and used > keep_mb * 1_000_000
        # Oldest first, until the rest fits.
        if folder == running or not (too_old or too_much) or _held(folder):
            continue
        size = _size(folder)  # before it is gone
        if _remove(folder, "age" if too_old else "room"):
            used -= size
            removed.append(folder)
    return removed


def discard_if_empty(folder: Path) -> bool:
    """Remove a session in which nobody spoke, commanded anything, and nothing went wrong.

    Its notes are given back first. Returns whether it is gone. Raises SessionError if it cannot be
    read.
    """
    # First, since `_discard` keeps a session that has notes.
    give_back_notes(folder)
    records = read_records(folder)
    wrong = any(isinstance(record, FaultEvent | BrokenEvent) for record in records)
    return not wrong and is_empty(folder, records) and _discard(folder, "nothing happened in it")


def discard_failed_start(folder: Path) -> None:
    """Remove the session of a run that failed at its start, unless it continued an earlier one.

    Its notes are given back first. Call it when the run is over: the session stays while a recorder
    that waits for its disk uses it.
    """
    try:
        if in_use(folder / JOURNAL):
            return
        give_back_notes(folder)
        if is_untouched(folder, read_records(folder)):
            _discard(folder, "the start failed")
    except (OSError, SessionError) as error:
        log.warning("session not removed", folder=str(folder), error=str(error))


def give_back_notes(folder: Path) -> None:
    """Give a session's notes to the next service, if this session has no captions.

    Notes that cannot be moved stay where they are; this is logged.
    """
    own, waiting = folder / NOTES, folder.parent / NOTES
    try:
        if not own.exists() or (folder / JOURNAL).stat().st_size:
            return
        if waiting.exists():
            every = joined((read_notes(own), read_notes(waiting)))
            write_notes(waiting, written(every, "several files"))
            # Only now, since duplicate notes are better than none.
            own.unlink()
        else:
            own.replace(waiting)
    except (NotesError, OSError) as error:
        log.warning("notes not given back", notes=str(own), error=str(error))
    else:
        log.info("notes given back", notes=str(waiting))


def give_back_left_notes(directory: Path, running: Path) -> None:
    """Give back the notes of the newest sessions without captions, except `running`.

    They come from killed daemons; other daemons give notes back themselves.
    """
    for folder in reversed(sessions(directory)):
        if folder == running or _held(folder):
            continue
        # Notes of earlier services are no longer needed.
        if (folder / JOURNAL).stat().st_size:
            return
        give_back_notes(folder)


def _discard(folder: Path, why: str) -> bool:
    # Notes that could not be given back are somebody's work.
    return not (folder / NOTES).exists() and _remove(folder, why)


def _remove(folder: Path, why: str) -> bool:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        log.warning("session not removed", folder=str(folder), error=str(error))
        return False
    log.info("session removed", folder=str(folder), why=why)
    return True


def _started(folder: Path) -> datetime | None:
    """Return when a session was started, None if the folder is not ours.

    If its journal was written later, return that time: the clock may have been set meanwhile.
    """
    if not _NAME.fullmatch(folder.name) or folder.is_symlink():
        return None
    started_utc = start_utc(folder.name)
    # Without a readable journal only the name counts.
    with suppress(OSError):
        written_utc = datetime.fromtimestamp((folder / JOURNAL).stat().st_mtime, UTC)
        return started_utc and max(started_utc, written_utc)
    return started_utc


def _oldest(started: Iterable[datetime], now_utc: datetime, kept: timedelta) -> datetime | None:
    """Return the time before which sessions are too old, None if none may be deleted.

    If the clock shows more than a year without sessions, it is probably wrong, as after a battery
    change. Then sessions stay until later ones confirm that they are old.
    """
    oldest_utc = after_utc = now_utc
    oldest_utc -= kept
    for started_utc in sorted(started, reverse=True):
        if started_utc < oldest_utc:
            return oldest_utc if after_utc - started_utc < kept + _CLOCK_WRONG else None
        after_utc = started_utc
    return None


def _held(folder: Path) -> bool:
    try:
        return in_use(folder / JOURNAL)
    except OSError:
        # It is unknown whether a daemon writes it, so it stays.
        return True


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # gone meanwhile
            # A link counts as itself, since its target is not ours and would not be deleted.
            size += path.lstat().st_size
    return size
