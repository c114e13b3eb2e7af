"""Remember across runs which models crashed their engine while loading.

Otherwise a service that systemd restarts after each crash would crash forever. A model is
forgotten when its files change, when it loads, and after the next boot of the machine.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import structlog
from pydantic import TypeAdapter, ValidationError

from pipeline.config.schema import Settings
from pipeline.core.files import write_whole

log = structlog.get_logger()

FILE = "model-crashes.json"
"""The file's name in session.directory."""

LOAD_CRASHES = 3
"""After so many crashes in a row while loading a model is given up."""

# A reboot may fix the cause, such as too little memory or a hanging driver.
_BOOT = Path("/proc/sys/kernel/random/boot_id")

# One lock for all: each engine's keeper thread has its own history object for the same file, and
# each one reads, changes and writes the whole file.
_writing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Crashes:
    """A model's crashes in a row while loading: their count, the last one's time and reason."""

    count: int
    utc: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Entry:
    state: str
    crashes: Crashes


_Entries = TypeAdapter(dict[str, _Entry])
"""The content of the file, by the model's path."""


class CrashHistory:
    """The file of crashes. If it cannot be read or written, nothing is remembered."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, model: Path) -> Crashes | None:
        """Return a model's crashes, None if there are none or its files have changed since."""
        entry = self._entries().get(str(model))
        return entry.crashes if entry and entry.state == _state(model) else None

    def is_given_up(self, model: Path) -> bool:
        """Return whether this model must not be loaded again unchanged."""
        crashes = self.of(model)
        return crashes is not None and crashes.count >= LOAD_CRASHES

    def note(self, model: Path, reason: str) -> None:
        """Record one more crash of a model."""
        utc = datetime.now(UTC).isoformat(timespec="seconds")
        with _writing:
            # None if the files have changed: the count restarts at one.
            before = self.of(model)
            crashes = Crashes((before.count if before else 0) + 1, utc, reason)
            self._write(self._entries() | {str(model): _Entry(_state(model), crashes)})

    def forget(self, model: Path) -> None:
        """Forget a model's crashes, since it loads."""
        with _writing:
            entries = self._entries()
            if entries.pop(str(model), None) is not None:
                self._write(entries)

    def _entries(self) -> dict[str, _Entry]:
        try:
            return _Entries.validate_json(self._file.read_bytes())
        # If the file is missing, damaged or of another version, every model is tried again.
        except (OSError, ValidationError):
            return {}

    def _write(self, entries: dict[str, _Entry]) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Atomic, since a kill is likely here: engines are crashing.
            write_whole(self._file, _Entries.dump_json(entries, indent=2))
        except OSError as error:
            log.warning("model crashes not kept", file=str(self._file), error=error.strerror)


def _state(model: Path) -> str:
    """Return a text that changes with the model's files and with every boot."""
    files, facts = [model], [""]
    with suppress(OSError):  # another user's folder: the engine will say so
        files = sorted(model.iterdir()) if model.is_dir() else files
    with suppress(OSError):
        facts[0] = _BOOT.read_text().strip() if _BOOT.exists() else f"{psutil.boot_time():.0f}"
    for file in files:
        with suppress(OSError):
            found = file.stat()
            # Not hashed: that would read gigabytes at each start.
            facts.append(f"{file.name}:{found.st_size}:{found.st_mtime_ns}")
    return " ".join(facts)


def crash_history(settings: Settings) -> CrashHistory:
    """Return the crash history of session.directory."""
    return CrashHistory(Path(settings.session.directory) / FILE)
