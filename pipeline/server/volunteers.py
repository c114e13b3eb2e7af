"""Volunteers who may send commands from their own devices: paired once by a code, kept by name.

Each device gets a token of 128 random bits; on disk there is only its SHA-256 and the name. A
random token cannot be guessed from its hash, so a slow hash would protect nothing. The file is read
again when it has changed: `stark-translate desk --revoke` works while a daemon runs.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.files import Stamp, stamp_of, try_lock, write_whole
from pipeline.core.formats import utc_now
from pipeline.protocol.codec import parse_json
from pipeline.server.access import client_network

FILE = "volunteers.json"
MOST = 100
"""Devices kept; with more, the oldest must be paired again."""

CODE_S = 600.0
"""How long a pairing code is valid."""
GUESSES = 5
"""Wrong codes from an address, after which the codes shown so far are invalid there."""
GUESSES_IN_ALL = 50
"""Wrong codes from all addresses, after which the codes shown so far are invalid everywhere."""
_CODES = 4  # valid at the same time
_DIGITS = 6
_LOCK_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that was paired."""

    name: str
    """The volunteer's name, as typed at the pairing."""
    sha256: str
    paired_utc: str


_DEVICES = TypeAdapter(tuple[Device, ...])


class Volunteers:
    """The paired devices of a folder of sessions."""

    def __init__(self, directory: Path | None) -> None:
        """Set the folder; nothing is read before `refresh`. Without a folder, nothing is kept."""
        self._file = directory / FILE if directory else None
        self._stamp: Stamp | None = None
        self.devices: tuple[Device, ...] = ()
        """All devices, oldest first."""

    @property
    def names(self) -> tuple[str, ...]:
        """The volunteers, each once, in the order of their first device."""
        return tuple(dict.fromkeys(device.name for device in self.devices))

    def add(self, name: str) -> str:
        """Pair a device of this volunteer and return its token. Raises SessionError."""
        token = secrets.token_urlsafe(16)
        device = Device(name=name, sha256=_digest(token), paired_utc=utc_now())
        with self._alone():
            self.refresh()
            self._write((*self.devices, device)[-MOST:])
        return token

    def revoke(self, name: str) -> int:
        """Remove all devices of this volunteer; return how many there were.

        Upper and lower case count as the same. Raises SessionError.
        """
        with self._alone():
            self.refresh()
            left = [each for each in self.devices if each.name.casefold() != name.casefold()]
            count = len(self.devices) - len(left)
            if count:
                self._write(left)
        return count

    def name_of(self, token: str) -> str:
        """Return the volunteer whose device has this token, "" if there is none."""
        digest = _digest(token)
        # All tokens are compared, each in constant time, so that the delay reveals nothing.
        found = [each.name for each in self.devices if hmac.compare_digest(each.sha256, digest)]
        return found[0] if found else ""

    def refresh(self) -> bool:
        """Read the file if it has changed; return whether it had. Raises SessionError."""
        if self._file is None or (stamp := stamp_of(self._file)) == self._stamp:
            return False
        try:
            # Read after its stamp: a change in between is found by the next check.
            data = self._file.read_bytes() if stamp else b"[]"
            self.devices = parse_json(_DEVICES, data)
        except (OSError, ProtocolError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise _unusable(self._file, str(reason)) from None
        self._stamp = stamp
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other programs from changing the file. Raises SessionError."""
        if self._file is None:
            yield
            return
        try:
            # A separate lock file, because each change replaces the list itself.
            handle = os.open(self._file.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT, 0o600)
            with os.fdopen(handle, "w") as lock:
                # This may be the event loop's thread: captions wait as long as this does.
                until_s = time.monotonic() + _LOCK_S
                while not try_lock(lock.fileno()):
                    if time.monotonic() > until_s:
                        raise _unusable(self._file, "another program is changing it")
                    time.sleep(0.01)  # the other one is done within milliseconds
                yield
        except OSError as error:
            raise _unusable(self._file, error.strerror or str(error)) from None

    def _write(self, devices: Iterable[Device]) -> None:
        self.devices, before = tuple(devices), self.devices
        if self._file is None:
            return
        try:
            if not self._file.exists():  # made for its owner only, before anything is in it
                os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600))
            write_whole(
                self._file,
                orjson.dumps(self.devices, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
                like=self._file.stat(),
            )
        except OSError as error:
            # A device that is not on disk would be let in only until the next start.
            self.devices = before
            raise _unusable(self._file, error.strerror or str(error)) from None
        self._stamp = stamp_of(self._file)


@dataclass(slots=True)
class _Shown:
    until_s: float
    wrong: Counter[str] = field(default_factory=Counter)
    """Wrong codes since this one was shown, by client network."""


class PairingCodes:
    """Codes of six digits that let a new device in once. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._codes: dict[str, _Shown] = {}

    def issue(self, now_s: float) -> str:
        """Return a new code; if there are too many, the oldest becomes invalid."""
        self._expire(now_s)
        code = f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}}"
        # The same digits may come twice by chance: they count as the newest then.
        self._codes.pop(code, None)
        self._codes[code] = _Shown(now_s + CODE_S)
        while len(self._codes) > _CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def take(self, given: str, address: str, now_s: float) -> bool:
        """Return whether a code is valid for this address; a valid code is used up.

        Digits of any script are taken.
        """
        self._expire(now_s)
        network = client_network(address)
        digits = "".join(str(int(each)) for each in given if each.isdecimal()).encode()
        for code, shown in self._codes.items():
            is_right = hmac.compare_digest(code.encode(), digits)
            if is_right and shown.wrong[network] < GUESSES:
                del self._codes[code]
                return True
        # A code has a million values: without a limit, a device could try them all. The limit by
        # address comes first, so that a device that guesses does not block the pairing of others.
        for shown in self._codes.values():
            shown.wrong[network] += 1
        return False

    def _expire(self, now_s: float) -> None:
        self._codes = {
            code: shown
            for code, shown in self._codes.items()
            if shown.until_s > now_s and shown.wrong.total() < GUESSES_IN_ALL
        }


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _unusable(file: Path, reason: str) -> SessionError:
    return SessionError(
        "volunteers-unusable",
        f"The list of volunteers {file} cannot be used: {reason}.",
        "Give the program's user the right to write it, or delete it and pair the devices anew.",
    )
