"""The threads of this program. None of them ends by an error unseen.

An error that ends a thread, a library's as well, reaches `threading.excepthook`; while a service
runs `watched` ends the service by it, as the end of a worker does. Where captions can go on without
what a thread does, its owner gives `failed`, tells operators there, and may have it begin anew.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from pipeline.core.errors import without_resources

log = structlog.get_logger()

_AGAIN_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses before the work begins anew; the last one from then on."""
_CALM_S = 60.0
"""After so long without an error the pauses begin at the first again."""


class Thread(threading.Thread):
    """A daemon thread. Without `failed` an error in it ends the service.

    With `failed`, that is called in the thread, with the error; then the thread ends or, if
    `again`, the work begins anew after a pause. What `failed` raises ends the service.
    """

    def __init__(
        self,
        work: Callable[[], None],
        name: str,
        *,
        failed: Callable[[BaseException], None] | None = None,
        again: bool = False,
    ) -> None:
        # A daemon thread: one that is stuck must not keep the program from ending.
        super().__init__(name=name, daemon=True)
        self._work = work
        self._on_error = failed
        self._is_repeated = again

    def start(self) -> None:
        """Start it. Raises ResourceError where the system has no thread left."""
        try:
            super().start()
        except RuntimeError as error:
            # A thread that was started twice is a RuntimeError too, and stays one.
            raise (without_resources(error) or error) from None

    def run(self) -> None:
        """Do the work, again after an error where that is wanted."""
        failures, began_s = 0, time.monotonic()
        while True:
            try:
                # An end without an error is wanted: the work does not begin anew.
                return self._work()
            # SystemExit as well: threading lets a thread end by it without a word.
            except BaseException as error:
                # On to `threading.excepthook`, which `watched` has replaced while a service runs.
                if self._on_error is None:
                    raise
                # An error of a kind that nobody expected: its trace is wanted, whoever is told.
                said = described(error)
                log.exception("thread broken", thread=self.name, error=said)
                self._on_error(error)
            if not self._is_repeated:
                return None
            now_s = time.monotonic()
            failures = failures + 1 if now_s - began_s < _CALM_S else 1
            time.sleep(_AGAIN_S[min(failures, len(_AGAIN_S)) - 1])
            began_s = time.monotonic()


@contextmanager
def watched(ended: Callable[[str, BaseException], None]) -> Iterator[None]:
    """Call `ended` in each thread that an error ends, with the thread's name and the error."""
    before = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        name = arguments.thread.name if arguments.thread else "a thread"
        # The value may be missing, as `threading.ExceptHookArgs` says.
        error = arguments.exc_value or arguments.exc_type()
        ended(name, without_resources(error) or error)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def described(error: BaseException) -> str:
    """Return the kind of an unexpected error and what it says, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
