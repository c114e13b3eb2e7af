"""Signals that reach the event loop at any rate.

asyncio's own handlers take each signal from a pipe of a few hundred bytes. A storm of one signal
fills it while the loop is busy: every further byte is a trace on the terminal, and a request to
end that comes then would be lost. Python's handlers remember each kind by itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

ENDS: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK") if hasattr(signal, name)
)
"""Signals that ask for the end. SIGBREAK: on Windows its window is closed."""
HANGUP: Final = getattr(signal, "SIGHUP", None)
"""SIGHUP; None on Windows."""


def handle_signals(handlers: Mapping[signal.Signals, Callable[[], None]]) -> None:
    """Call these in the running loop's thread, once for a kind that came several times at once.

    That ends with the event loop. Only the main thread may do this.
    """
    loop = asyncio.get_running_loop()
    for number in handlers:  # asyncio opens the pipe, and gives all back when the loop is closed
        with suppress(NotImplementedError):  # on Windows the loop has a pipe from the beginning
            loop.add_signal_handler(number, _wake)
    # Setting one returns the one before: there is no other way to learn of asyncio's pipe.
    pipe = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
    for number, handler in handlers.items():
        signal.signal(number, _Handler(loop, handler))


def hangup(
    closed: Callable[[], None], asked: Callable[[], None], descriptors: Iterable[int] = (0, 1, 2)
) -> Callable[[], None]:
    """Return what to do at SIGHUP: `closed` if our terminal is gone, otherwise `asked`.

    Somebody who closes the window of a service wants it to end. Of a terminal that is still there,
    or was never there, the signal was sent by hand or by systemd.
    """
    terminals = [descriptor for descriptor in descriptors if os.isatty(descriptor)]

    def handle() -> None:
        # The kernel takes the terminal away before it sends the signal.
        if terminals and not any(map(os.isatty, terminals)):
            closed()
        else:
            asked()

    return handle


def _wake() -> None:
    """Do nothing: the loop is awake, and Python calls the real handler."""


class _Handler:
    """What Python calls between two instructions of the main thread, wherever that is."""

    def __init__(self, loop: asyncio.AbstractEventLoop, handler: Callable[[], None]) -> None:
        self._loop = loop
        self._handler = handler
        self._is_due = False

    def __call__(self, *_: object) -> None:
        if not self._is_due and not self._loop.is_closed():
            # Any two instructions may be interrupted by this: the work is left to the loop.
            self._is_due = True
            self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        # First: a signal that comes while the handler runs is a request of its own.
        self._is_due = False
        self._handler()
