"""Create session folders, and the errors of a session that cannot be written."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from pathlib import Path

from pipeline.core.errors import SessionError
from pipeline.session.reader import session_name


def make_folder(directory: Path, started_utc: datetime) -> Path:
    """Create and return `directory/<start time>`, with a number appended if that exists.

    The time is that of the church, where the machine stands, with its offset unless that is 0.
    Raises SessionError (session-unwritable).
    """
    stamp = session_name(started_utc)
    folder = directory / stamp
    # mkdir decides, not a look before it: another program may be at the same second.
    for number in count(2):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder = directory / f"{stamp}-{number}"
        except OSError as error:
            raise unwritable(folder, error.strerror or str(error)) from None
        else:
            break
    return folder


def unwritable(path: Path, reason: str) -> SessionError:
    """Return the error of a session that cannot be written."""
    return SessionError(
        "session-unwritable",
        f"{path} cannot be written: {reason}.",
        "Set session.directory (or --sessions) to a folder that can be written.",
    )
