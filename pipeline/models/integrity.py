"""Compare a model's files with those shipped or pulled: sizes at once, hashes in time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from pipeline.core.threads import Thread
from pipeline.models.library import MANIFEST, Manifest, StoredFile, digest, nobody
from pipeline.models.registry import shipped_folder

log = structlog.get_logger()

FILE_LIST = "files.json"
"""In models/starter and models/tiny: size and hash of every file of the models that ship."""

_FILES: TypeAdapter[tuple[StoredFile, ...]] = TypeAdapter(tuple[StoredFile, ...])
# The largest nice value that Linux knows.
_LEAST_URGENT = 19
# 600 is TimeoutStartSec of systemd's unit.
_KNOWN_S, _UNKNOWN_S = 600.0, 120.0
_SLOW_DISK = 10e6
"""Bytes a second that a slow disk reads: 2.5 GB in four minutes."""


class _StoppedError(Exception):
    """Hashing is not wanted any more."""


def shipped_files(folder: Path) -> tuple[StoredFile, ...]:
    """Return what must be in the folder of the models that ship; nothing if it does not say."""
    with suppress(OSError, ValidationError):
        return _FILES.validate_json((folder / FILE_LIST).read_bytes())
    return ()


def wrong_sizes(model: Path) -> list[str]:
    """Return what is wrong with a model's files, in words, by their sizes only."""
    return [said for file, known in known_files(model) if (said := _wrong_size(file, known))]


def wrong_files(model: Path, on_bytes: Callable[[int], None] = nobody) -> list[str]:
    """Return what is wrong with a model's files, reading them all; nothing if nobody knows them.

    `on_bytes` gets the bytes read since its last call.
    """
    found = []
    for file, known in known_files(model):
        said = _wrong_size(file, known)
        # A size is known at once, a hash takes a minute for a large model: sizes go first.
        if not said and digest(file, "sha256", on_bytes) != known.sha256:
            said = f"{file} has other content than it was made with"
        found += [said] if said else []
    return found


class BackgroundHashing:
    """Reads the models' files in a thread of its own, when the service runs, and reports faults.

    A disk that has flipped a bit breaks no load: more than half of the files damaged at random
    load without a word, and translate nonsense.
    """

    def __init__(
        self,
        models: Iterable[Path],
        tell: Callable[[str], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """`tell` is called in that thread, with a sentence for each file that is wrong; `failed`
        with an error that nobody expected, which ends it.
        """
        # Once each: several engines may run on one model.
        self._models = tuple(dict.fromkeys(models))
        self._tell = tell
        self._is_stopped = threading.Event()
        self._thread = Thread(self._hash, "model hashes", failed=failed)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it, whatever it is at."""
        # `_go_on` sees it after the next megabyte, so the wait is short.
        self._is_stopped.set()
        # A thread that was never started cannot be joined.
        if self._thread.is_alive():
            self._thread.join()

    def _hash(self) -> None:
        with suppress(OSError, AttributeError):  # only Linux has a priority for each thread
            # It reads gigabytes while captions are made: these go first.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LEAST_URGENT)
        with suppress(_StoppedError):
            for model in self._models:
                try:
                    wrong = wrong_files(model, self._go_on)
                except OSError as error:
                    wrong = [f"{model} cannot be read: {error.strerror}"]
                for said in wrong:
                    self._tell(f"{said}. Fetch or install it again; captions may be nonsense.")
                log.debug("model hashed", model=str(model), wrong=len(wrong))

    def _go_on(self, _: int) -> None:
        if self._is_stopped.is_set():
            raise _StoppedError


def known_files(model: Path) -> list[tuple[Path, StoredFile]]:
    """Return the files of a model with what is known of each."""
    folder = model if model.is_dir() else model.parent
    if home := shipped_folder(model):
        known = ((home / each.path, each) for each in shipped_files(home))
        # One list is for all that ships of that name; only this model's files are meant.
        return [(file, each) for file, each in known if file.parent == folder]
    with suppress(OSError, ValidationError):
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        return [(folder / each.path, each) for each in manifest.files]
    return []


def loading_limit_s(model: Path) -> float:
    """Return how long a model may take to load for the first time, in seconds.

    What shipped or was pulled may take as long as systemd lets a start take. Of what nobody knows,
    a damaged file may load for ever, and so has as long as a slow disk needs to read it.
    """
    if known_files(model):
        return _KNOWN_S
    with suppress(OSError):
        files = model.rglob("*") if model.is_dir() else (model,)
        return _UNKNOWN_S + sum(file.stat().st_size for file in files) / _SLOW_DISK
    return _UNKNOWN_S


def _wrong_size(file: Path, known: StoredFile) -> str:
    try:
        size = file.stat().st_size
    except OSError:
        return f"{file} is missing"
    return f"{file} has {size} of {known.size_bytes} bytes" if size != known.size_bytes else ""
