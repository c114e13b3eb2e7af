"""Ids of utterances and of typed captions: one count, so that captions keep their order."""

from __future__ import annotations

import threading


class UtteranceIds:
    """Gives each id once. Any thread may take one."""

    def __init__(self, last: int = 0) -> None:
        """Go on from `last`, the highest id so far."""
        self.last = last
        self._lock = threading.Lock()

    def take(self) -> int:
        """Return the next id."""
        # += is a read and a write: two threads between them would get the same id.
        with self._lock:
            self.last += 1
            return self.last
