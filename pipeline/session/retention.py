"""Delete old sessions: those past an age, then the oldest while all together are too large.

Off by default: nobody's sermon is deleted unasked. The running session, and any other that a daemon
is writing, is never deleted.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from pipeline.config.keeping import Session as SessionSettings
from pipeline.records.events import BrokenEvent, FaultEvent
from pipeline.session.reader import JOURNAL, read_records, sessions, start_utc
from pipeline.session.resume import in_use, is_empty

log = structlog.get_logger()

# What make_folder calls a session. Anything else that somebody keeps there is not ours to remove.
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d([+-]\d{4})?(-\d+)?")


def prune_older(keeping: SessionSettings, running: Path) -> list[Path]:
    """Remove the sessions beside the running one that the settings do not keep; see `prune`."""
    return prune(
        running.parent,
        running=running,
        now_utc=datetime.now(UTC),
        keep_days=keeping.keep_days,
        keep_mb=keeping.keep_mb,
    )


def prune(
    directory: Path, *, keep_days: int, keep_mb: int, running: Path, now_utc: datetime
) -> list[Path]:
    """Delete the sessions past the limits (0: no limit); return them, the oldest first.

    `running` is kept whatever its age and size, but its size counts. A session that cannot be
    deleted is logged and left.
    """
    dated = [(folder, _started(folder)) for folder in sessions(directory)]
    ours = [(folder, started) for folder, started in dated if started is not None]
    removed = []
    used = sum(_size(folder) for folder, _ in ours) if keep_mb else 0
    oldest_utc = now_utc - timedelta(days=keep_days)
    for folder, started_utc in ours:
        too_old = keep_days > 0 and started_utc < oldest_utc
        too_much = keep_mb > 0 and used > keep_mb * 1_000_000
        # Oldest first, until the rest fits.
        if folder == running or not (too_old or too_much) or _held(folder):
            continue
        size = _size(folder)  # before it is gone
        try:
            shutil.rmtree(folder)
        except OSError as error:
            log.warning("session not removed", folder=str(folder), error=str(error))
            continue
        used -= size
        removed.append(folder)
        log.info("session removed", folder=str(folder), why="age" if too_old else "room")
    return removed


def discard_if_empty(folder: Path) -> bool:
    """Remove a session in which nobody spoke, commanded anything, and nothing went wrong.

    Returns whether it is gone. Raises SessionError where it cannot be read.
    """
    records = read_records(folder)
    wrong = any(isinstance(record, FaultEvent | BrokenEvent) for record in records)
    if wrong or not is_empty(folder, records):
        return False
    try:
        shutil.rmtree(folder)
    except OSError as error:
        log.warning("session not removed", folder=str(folder), error=str(error))
        return False
    log.info("session removed", folder=str(folder), why="nothing happened in it")
    return True


def _started(folder: Path) -> datetime | None:
    ours = _NAME.fullmatch(folder.name) and not folder.is_symlink()
    return start_utc(folder.name) if ours else None


def _held(folder: Path) -> bool:
    try:
        return in_use(folder / JOURNAL)
    except OSError:
        # Nobody can tell whether a daemon writes it: it stays.
        return True


def _size(folder: Path) -> int:
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.rglob("*"):
        try:
            # A link counts as itself: what it points at is not ours and would not be deleted.
            yield path.lstat().st_size
        except OSError:  # gone meanwhile
            continue
