"""The queue between listening and transcribing: every final in order, only the newest partial.

A slow recognizer lowers the rate of partials by itself, since an unread partial is replaced. When
`limit` finals wait, `put` waits too; the capture queue then fills and drops its oldest audio,
counted. Nothing is dropped here but replaced partials.
"""

from __future__ import annotations

import threading
from collections import deque

from pipeline.events import Utterance


class Mailbox:
    """Carries utterances from one thread to another."""

    def __init__(self, limit: int = 32) -> None:
        self._limit = limit
        self._finals: deque[Utterance] = deque()
        self._partial: Utterance | None = None
        self._closed = False
        self._changed = threading.Condition()
        self.replaced_partials = 0

    def __len__(self) -> int:
        """Return how many finals wait."""
        return len(self._finals)

    @property
    def oldest_s(self) -> float | None:
        """When the longest waiting final was closed (monotonic)."""
        with self._changed:
            return self._finals[0].closed_s if self._finals else None

    def put(self, utterance: Utterance) -> None:
        """Add a final, waiting for room, or replace the partial."""
        with self._changed:
            if self._partial is not None:
                self.replaced_partials += 1
            if not utterance.final:
                self._partial = utterance
            else:
                self._partial = None
                self._changed.wait_for(lambda: len(self._finals) < self._limit or self._closed)
                self._finals.append(utterance)
            self._changed.notify_all()

    def get(self, timeout_s: float | None = None) -> Utterance | None:
        """Return the next final, else the newest partial, else None: timed out, or at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._finals or self._partial or self._closed, timeout_s)
            if self._finals:
                self._changed.notify_all()
                return self._finals.popleft()
            partial, self._partial = self._partial, None
            return partial

    @property
    def finished(self) -> bool:
        """Whether it is closed and empty: no further utterance will come."""
        with self._changed:
            return self._closed and not self._finals and self._partial is None

    def close(self) -> None:
        """Let no more in; what waits can still be taken."""
        with self._changed:
            self._closed = True
            self._partial = None
            self._changed.notify_all()
