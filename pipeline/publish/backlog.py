"""Messages for the stream: those that wait, and the newest of each subject.

Any thread may call it. It is bounded, so that an uplink that stays away costs some memory at most.
"""

from __future__ import annotations

import threading

from pipeline.publish.stream import StreamMessage


class Backlog:
    """What has not been acknowledged yet, and what a stream that was lost needs again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[str, StreamMessage] = {}
        self._newest: dict[str, StreamMessage] = {}
        """By subject, in the order of their last change; arrived or not."""
        self._lock = threading.Lock()
        self.dropped = 0
        """Messages that were given up because too many waited."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: StreamMessage) -> None:
        """Add a message; it takes the place of one that waits for the same subject.

        Beyond the bound the oldest partial goes, else the oldest final; never one that takes text
        back.
        """
        with self._lock:
            for messages in (self._waiting, self._newest):
                messages.pop(message.subject, None)
                messages[message.subject] = message
            if len(self._newest) > self._most:
                del self._newest[next(iter(self._newest))]
            if len(self._waiting) > self._most:
                self._drop()

    def again(self) -> None:
        """Let the newest message of each subject wait, in the order of their last change."""
        with self._lock:
            # What waits and is not among them is older than all of them.
            old = {key: each for key, each in self._waiting.items() if key not in self._newest}
            self._waiting = old | self._newest

    def first(self) -> StreamMessage | None:
        """Return the one that has waited longest; it stays until `done`."""
        with self._lock:
            return next(iter(self._waiting.values()), None)

    def done(self, message: StreamMessage) -> None:
        """Forget a message that has arrived, unless a newer one has taken its place."""
        with self._lock:
            if self._waiting.get(message.subject) is message:
                del self._waiting[message.subject]

    def _drop(self) -> None:
        # Never the one that has just come: it is the newest of all.
        *older, _ = self._waiting.values()
        # A partial is replaced soon anyway; a final that is dropped is missed.
        for is_final in (False, True):
            for each in older:
                if each.is_final is is_final and not each.takes_back:
                    del self._waiting[each.subject]
                    self.dropped += 1
                    return
