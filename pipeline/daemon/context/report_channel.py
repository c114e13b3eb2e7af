"""The way of the workers' reports to the main thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from pipeline.core.reports import Report


class ReportChannel:
    """Hands what any thread reports to one function on the event loop, in each thread's order.

    It is made before the threads that report and before the parts that are reported to, so that
    neither has to know the other.
    """

    _loop: asyncio.AbstractEventLoop
    _receive: Callable[[Report], None]

    def open(self, receive: Callable[[Report], None]) -> None:
        """Deliver to `receive` on the running loop. Nobody may report earlier."""
        self._loop = asyncio.get_running_loop()
        self._receive = receive

    def emit(self, report: Report) -> None:
        """Report something, from any thread; never waits."""
        with suppress(RuntimeError):  # an engine that hung may come back after the end
            self._loop.call_soon_threadsafe(self._receive, report)
