"""The threads of this program. No thread fails silently.

An error that ends any thread, even a library's, reaches `threading.excepthook`. While a service
runs, `watched` then ends the service, as the end of a worker does. If captions can go on without a
thread, its owner passes `failed`, which notifies operators, and may restart the work (`again`).
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
"""Back-off pauses before the work restarts; the last one repeats."""
_CALM_S = 60.0
"""After this time without an error the back-off starts from the first pause."""


class Thread(threading.Thread):
    """A daemon thread. Without `failed` an error in it ends the service.

    `failed` is called in the thread, with the error. Then the thread ends or, with `again`, the
    work restarts after a pause. An error that `failed` raises ends the service.
    """

    def __init__(
        self,
        work: Callable[[], None],
        name: str,
        *,
        failed: Callable[[BaseException], None] | None = None,
        again: bool = False,
    ) -> None:
        # A daemon thread: a stuck thread must not prevent the program's exit.
        super().__init__(name=name, daemon=True)
        self._work = work
        self._on_error = failed
        self._is_repeated = again

    def start(self) -> None:
        """Start it. Raises ResourceError if the system has no thread left."""
        try:
            super().start()
        except RuntimeError as error:
            # Starting a thread twice is also a RuntimeError, and is raised unchanged.
            raise (without_resources(error) or error) from None

    def run(self) -> None:
        """Do the work; with `again`, repeat it after an error."""
        failures, began_s = 0, time.monotonic()
        while True:
            try:
                # A normal end is intended: the work does not restart.
                return self._work()
            # SystemExit as well: threading ends a thread by it silently.
            except BaseException as error:
                # It goes to `threading.excepthook`, which `watched` replaces during a service.
                if self._on_error is None:
                    raise
                # An unexpected error: always log its traceback.
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
    """Call `ended` in each thread that ends with an error, with the thread's name and the error."""
    before = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        name = arguments.thread.name if arguments.thread else "a thread"
        # The value may be missing, according to `threading.ExceptHookArgs`.
        error = arguments.exc_value or arguments.exc_type()
        ended(name, without_resources(error) or error)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def described(error: BaseException) -> str:
    """Return the type of an unexpected error and its message, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
