"""When an engine was at work: a busy thread is waited for because of the engine that it asks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

_REMEMBERED = 256
"""Stretches of work that are remembered: minutes of partials."""


class WorkLog:
    """The stretches of time that one thread spent with an engine. Any thread may ask."""

    def __init__(self) -> None:
        self._done: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._began_s: float | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Note that the engine works while the block lasts."""
        began_s = self._began_s = time.monotonic()
        try:
            yield
        finally:
            self._done.append((began_s, time.monotonic()))
            self._began_s = None

    def since(self, from_s: float, now_s: float) -> float:
        """Return how many of the seconds from `from_s` to `now_s` (monotonic) it was at work."""
        began_s = self._began_s
        ends_s = {} if began_s is None else {began_s: now_s}
        # A copy, since the thread at work appends meanwhile; by its beginning a stretch that ends
        # just now is counted once.
        ends_s.update(self._done.copy())
        return sum(max(0.0, end - max(begin, from_s)) for begin, end in ends_s.items())
