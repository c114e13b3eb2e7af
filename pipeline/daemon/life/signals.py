"""Signals that reliably reach the event loop.

asyncio's own handlers take each signal from a pipe of a few hundred bytes. Many signals of one kind
fill it while the loop is busy. Then every further byte prints a traceback on the terminal, and a
request to end would be lost. Python's handlers remember each kind of signal separately.
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
"""Signals that request the end. SIGBREAK: on Windows the program's window is closed."""
HANGUP: Final = getattr(signal, "SIGHUP", None)


def handle_signals(handlers: Mapping[signal.Signals, Callable[[], None]]) -> None:
    """Call these in the running loop's thread, once for several simultaneous signals of a kind.

    The handlers work until the event loop ends. Only the main thread may call this.
    """
    loop = asyncio.get_running_loop()
    for number in handlers:  # asyncio opens the pipe, and restores all when the loop closes
        with suppress(NotImplementedError):  # on Windows the loop has a pipe from the start
            loop.add_signal_handler(number, _wake)
    # Setting one returns the previous one: this is the only way to get asyncio's pipe.
    pipe = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
    for number, handler in handlers.items():
        signal.signal(number, _Handler(loop, handler))


def hangup(
    closed: Callable[[], None], asked: Callable[[], None], descriptors: Iterable[int] = (0, 1, 2)
) -> Callable[[], None]:
    """Return the handler of SIGHUP: `closed` if our terminal is gone, otherwise `asked`.

    Somebody who closes the window of a service wants it to end. If the terminal still exists, or
    there never was one, the signal was sent by hand or by systemd.
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
    """Do nothing: the loop is awake now, and Python calls the real handler."""


class _Handler:
    """A handler that Python calls between any two instructions of the main thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, handler: Callable[[], None]) -> None:
        self._loop = loop
        self._handler = handler
        self._is_due = False

    def __call__(self, *_: object) -> None:
        if not self._is_due and not self._loop.is_closed():
            # The call may interrupt any code, so the loop does the work.
            self._is_due = True
            self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        # First: a signal that comes while the handler runs is a new request.
        self._is_due = False
        self._handler()
