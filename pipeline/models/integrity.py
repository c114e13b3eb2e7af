"""Compare a model's files with those shipped or pulled: sizes at once, hashes later."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from pipeline.core.files import size_bytes
from pipeline.core.threads import Thread
from pipeline.models.library import MANIFEST, Manifest, StoredFile, nobody
from pipeline.models.registry import shipped_folder

log = structlog.get_logger()

FILE_LIST = "files.json"
"""In models/starter and models/tiny: size and hash of every file of the models that ship."""

_FILES: TypeAdapter[tuple[StoredFile, ...]] = TypeAdapter(tuple[StoredFile, ...])
# The largest nice value that Linux knows.
_LEAST_URGENT = 19
# 600 is TimeoutStartSec of systemd's unit.
_KNOWN_S, _UNKNOWN_S = 600.0, 120.0
_DEEPEST = 4
"""Folders above a file in which its manifest is looked for."""
_SLOW_DISK = 10e6
"""Bytes a second that a slow disk reads: 2.5 GB in four minutes."""


class _StoppedError(Exception):
    """Hashing was stopped."""


def shipped_files(folder: Path) -> tuple[StoredFile, ...]:
    """Return the listed files of a folder of shipped models; nothing if it has no usable list."""
    with suppress(OSError, ValidationError):
        return _FILES.validate_json((folder / FILE_LIST).read_bytes())
    return ()


def wrong_files(
    model: Path, *, hashes: bool = False, on_bytes: Callable[[int], None] = nobody
) -> list[str]:
    """Return what is wrong with a model's known files, as `StoredFile.fault` does."""
    said = (
        known.fault(file, hashes=hashes, on_bytes=on_bytes) for file, known in known_files(model)
    )
    return [fault for fault in said if fault]


class BackgroundHashing:
    """Hashes the models' files in its own thread while the service runs, and reports faults.

    Loading does not find a bit flipped by the disk: more than half of randomly damaged files load
    without an error, and translate nonsense.
    """

    def __init__(
        self,
        models: Iterable[Path],
        tell: Callable[[str], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """The thread calls `tell` with a sentence for each wrong file, and `failed` with an
        unexpected error, which ends it.
        """
        # Each once, since several engines may use one model.
        self._models = tuple(dict.fromkeys(models))
        self._tell = tell
        self._is_stopped = threading.Event()
        self._thread = Thread(self._hash, "model hashes", failed=failed)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread at any point."""
        # `_go_on` checks the event after each megabyte, so the wait is short.
        self._is_stopped.set()
        # A thread that was never started cannot be joined.
        if self._thread.is_alive():
            self._thread.join()

    def _hash(self) -> None:
        with suppress(OSError, AttributeError):  # only Linux has a priority per thread
            # Low, since it reads gigabytes while captions are made, and captions come first.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LEAST_URGENT)
        with suppress(_StoppedError):
            for model in self._models:
                wrong = wrong_files(model, hashes=True, on_bytes=self._go_on)
                for fault in wrong:
                    self._tell(f"{fault}. Fetch or install it again; captions may be nonsense.")
                log.debug("model hashed", model=str(model), wrong=len(wrong))

    def _go_on(self, _: int) -> None:
        if self._is_stopped.is_set():
            raise _StoppedError


def known_files(model: Path) -> list[tuple[Path, StoredFile]]:
    """Return the files of a model, each with its known size and hash."""
    folder = model if model.is_dir() else model.parent
    if home := shipped_folder(model):
        known = ((home / each.path, each) for each in shipped_files(home))
        # The list covers all shipped models of that name; keep only this model's files.
        return [(file, each) for file, each in known if file.parent == folder]
    # A .gguf file may lie in a folder of its repository, below the manifest.
    for home in (folder, *folder.parents[:_DEEPEST]):
        with suppress(OSError, ValidationError):
            manifest = Manifest.model_validate_json((home / MANIFEST).read_bytes())
            files = [(home / each.path, each) for each in manifest.files]
            return files if home == folder or model in dict(files) else []
    return []


def loading_limit_s(model: Path) -> float:
    """Return how long a model may take to load for the first time, in seconds.

    A shipped or pulled model may take as long as systemd allows for a start. An unknown model may
    be damaged and load forever, so it gets the time that a slow disk needs to read it.
    """
    if known_files(model):
        return _KNOWN_S
    return _UNKNOWN_S + size_bytes(model) / _SLOW_DISK
