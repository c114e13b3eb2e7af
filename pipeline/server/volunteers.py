"""Volunteers who may command from devices of their own: paired once by a code, kept by name.

Each device gets a token of 128 random bits; on disk there is only its SHA-256, with the name. A
random token cannot be guessed from its hash, so a slow hash would protect nothing. The file is read
again when it has changed: `stark-translate desk --revoke` works beside a running daemon.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.files import write_whole
from pipeline.core.timestamps import utc_now
from pipeline.protocol.codec import parse_json

FILE = "volunteers.json"
MOST = 100
"""Devices kept; with more, the oldest has to be paired anew."""

CODE_S = 600.0
"""How long a pairing code holds."""
GUESSES = 5
"""Wrong codes, from anybody, after which those that were shown hold no more."""
_CODES = 4  # that hold at the same time
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that was paired."""

    name: str
    """The volunteer's, as typed at the pairing."""
    sha256: str
    """Of the device's token."""
    paired_utc: str


_DEVICES = TypeAdapter(tuple[Device, ...])


class Volunteers:
    """The paired devices of a folder of sessions."""

    def __init__(self, directory: Path | None) -> None:
        """Take the folder; nothing is read before `refresh`. Without one nothing is kept."""
        self._file = directory / FILE if directory else None
        self._stamp: tuple[int, int] | None = None
        self._devices: tuple[Device, ...] = ()

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices, oldest first."""
        return self._devices

    @property
    def names(self) -> tuple[str, ...]:
        """The volunteers, each once, in the order of their first device."""
        return tuple(dict.fromkeys(device.name for device in self._devices))

    def add(self, name: str) -> str:
        """Pair a device of this volunteer and return its token. Raises SessionError."""
        self.refresh()
        token = secrets.token_urlsafe(16)
        device = Device(name=name, sha256=_digest(token), paired_utc=utc_now())
        self._write((*self._devices, device)[-MOST:])
        return token

    def revoke(self, name: str) -> int:
        """Let no device of this volunteer in any more; return how many there were.

        Upper and lower case count as the same. Raises SessionError.
        """
        self.refresh()
        left = [each for each in self._devices if each.name.casefold() != name.casefold()]
        count = len(self._devices) - len(left)
        if count:
            self._write(left)
        return count

    def name_of(self, token: str) -> str:
        """Return whose device has this token, "" if none has."""
        digest = _digest(token)
        # All are compared, each in constant time: the delay tells nothing.
        found = [each.name for each in self._devices if hmac.compare_digest(each.sha256, digest)]
        return found[0] if found else ""

    def refresh(self) -> bool:
        """Read the file if it has changed; return whether it had. Raises SessionError."""
        if self._file is None or (stamp := _stamp_of(self._file)) == self._stamp:
            return False
        try:
            data = self._file.read_bytes() if stamp else b"[]"
            self._devices = parse_json(_DEVICES, data)
        except (OSError, ProtocolError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise _unusable(self._file, str(reason)) from None
        self._stamp = stamp
        return True

    def _write(self, devices: Iterable[Device]) -> None:
        self._devices, before = tuple(devices), self._devices
        if self._file is None:
            return
        try:
            if not self._file.exists():  # made for its owner only, before anything is in it
                os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600))
            write_whole(
                self._file,
                orjson.dumps(self._devices, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
                like=self._file.stat(),
            )
        except OSError as error:
            # A device that is not on disk would be let in until the next start, and then no more.
            self._devices = before
            raise _unusable(self._file, error.strerror or str(error)) from None
        self._stamp = _stamp_of(self._file)


class PairingCodes:
    """Codes of six digits that let a new device in once. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._codes: dict[str, float] = {}
        self._wrong = 0

    def issue(self, now_s: float) -> str:
        """Return a new code; the oldest of too many holds no more."""
        self._expire(now_s)
        # Wrong guesses count against codes that hold: with a new one they begin anew.
        if not self._codes:
            self._wrong = 0
        code = f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}}"
        self._codes.pop(code, None)
        self._codes[code] = now_s + CODE_S
        while len(self._codes) > _CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def take(self, given: str, now_s: float) -> bool:
        """Return whether a code holds; it is used up then. Too many wrong ones end all."""
        self._expire(now_s)
        digits = "".join(filter(str.isdigit, given)).encode()
        found = [code for code in self._codes if hmac.compare_digest(code.encode(), digits)]
        if found:
            del self._codes[found[0]]
            return True
        self._wrong += 1
        # A code has a million values: without an end to guessing, a device could try them all.
        if self._wrong >= GUESSES:
            self._codes.clear()
        return False

    def _expire(self, now_s: float) -> None:
        self._codes = {code: until for code, until in self._codes.items() if until > now_s}


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _stamp_of(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino  # a file that is replaced has another inode


def _unusable(file: Path, reason: str) -> SessionError:
    return SessionError(
        "volunteers-unusable",
        f"The list of volunteers {file} cannot be used: {reason}.",
        "Give the program's user the right to write it, or delete it and pair the devices anew.",
    )
