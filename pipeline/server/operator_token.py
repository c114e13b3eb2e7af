"""The operator's token: created at the first start, in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pipeline.core.errors import SessionError

FILE = "operator-token"


def token_in_force(named: str, directory: Path) -> str:
    """Return the token that the settings name, else the one kept in `directory`, made if need be.

    Raises SessionError (token-unusable).
    """
    return named or operator_token(directory)


def token_place(named: str, directory: Path) -> str:
    """Return where a person finds the token in force."""
    return "the settings, operator.token" if named else str(directory / FILE)


def operator_token(directory: Path) -> str:
    """Return the token kept in `directory`, making it if there is none. Raises SessionError."""
    file = directory / FILE
    try:
        if not file.exists():
            # Readable by its owner only from the start, and no file that somebody else put there.
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as out:
                out.write(secrets.token_urlsafe(16) + "\n")
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SessionError(
            "token-unusable", f"The operator's token {file} cannot be used: {error}.", "Delete it."
        ) from None
    if not token:
        raise SessionError("token-unusable", f"The operator's token {file} is empty.", "Delete it.")
    return token


def kept_token(directory: Path) -> str:
    """Return the token that a daemon keeps in `directory`. Raises SessionError (token-missing)."""
    # Not made where there is none: the daemon would not know it.
    file = directory / FILE
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SessionError(
            "token-missing",
            f"The daemon's operator token {file.absolute()} cannot be read: {reason}.",
            "Is it running? If not, `stark-translate run` starts it; if so, name its own --config "
            "or --sessions, and run this as its user.",
        ) from None
