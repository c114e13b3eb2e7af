"""The queues between the threads.

listen -> UtteranceQueue -> transcribe -> DraftQueue -> translate

UtteranceQueue: every final in order, only the newest partial. A slow recognizer lowers the rate of
partials by itself, since an unread partial is replaced. When `limit` finals wait, `put` waits too;
the capture queue then fills and drops its oldest audio, counted. DraftQueue: at most DRAFT_LIMIT;
when it is full the draft itself becomes the final, so nothing is dropped there either.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TypeAlias

from pipeline.core.types import Caption, Utterance

DRAFT_LIMIT = 4

Draft: TypeAlias = tuple[Caption, float]
"""A caption that waits for its final translation, and when it was handed over (monotonic)."""


class DraftQueue(queue.Queue[Draft | None]):
    """Carries drafts from transcribe to translate; None is the end."""


class UtteranceQueue:
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

    def get(self) -> Utterance | None:
        """Wait for the next final, else the newest partial. None is the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._finals or self._partial or self._closed)
            if self._finals:
                self._changed.notify_all()
                return self._finals.popleft()
            partial, self._partial = self._partial, None
            return partial

    def discard(self) -> None:
        """Throw away what waits."""
        with self._changed:
            self._finals.clear()
            self._partial = None
            self._changed.notify_all()

    def close(self) -> None:
        """Let no more in; what waits can still be taken."""
        with self._changed:
            self._closed = True
            self._partial = None
            self._changed.notify_all()
