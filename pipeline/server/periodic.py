"""What the server does again and again, such as telling operators how it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Periodic:
    """Calls functions until it is closed. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}

    def start(self, period_s: float, act: Callable[[], None]) -> None:
        """Call a function after each period. What it raises, the log tells."""

        def again() -> None:
            # First, so that an error of `act` does not end the series.
            self.start(period_s, act)
            act()

        self._timers[act] = asyncio.get_running_loop().call_later(period_s, again)

    def close(self) -> None:
        """Call nothing any more."""
        for timer in self._timers.values():
            timer.cancel()
