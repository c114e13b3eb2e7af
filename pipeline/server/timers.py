"""What is done again and again for as long as a server lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Timers:
    """Calls functions at their periods, on the event loop, until `stop`."""

    def __init__(self) -> None:
        self._next: dict[Callable[[], None], asyncio.TimerHandle] = {}

    def every(self, period_s: float, act: Callable[[], None]) -> None:
        """Call a function from now on. What it raises, the log tells."""

        def again() -> None:
            # First, so that an error of `act` does not end the series.
            self.every(period_s, act)
            act()

        self._next[act] = asyncio.get_running_loop().call_later(period_s, again)

    def stop(self) -> None:
        """Call nothing any more."""
        for timer in self._next.values():
            timer.cancel()
