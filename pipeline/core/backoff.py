"""Leave a failing engine alone for a while, longer each time, and try it again. Pure.

Trying costs time that the captions need, and an error a second tells nobody anything. So after some
errors in a row an engine rests, and after each further one twice as long, up to a limit.
"""

from __future__ import annotations


class Backoff:
    """Counts errors in a row, in monotonic seconds. Any thread may ask `is_active`."""

    def __init__(self, *, after: int, first_s: float, most_s: float) -> None:
        """Rest after `after` errors in a row: `first_s` at first, `most_s` at most."""
        self._after = after
        self._first_s = first_s
        self._most_s = most_s
        self._failures = 0
        self._until_s = 0.0

    def failed(self, now_s: float) -> None:
        """Note an error."""
        self._failures += 1
        if self._failures >= self._after:
            doublings = min(self._failures - self._after, 32)  # a float holds that, whatever comes
            self._until_s = now_s + min(self._most_s, self._first_s * 2.0**doublings)

    def succeeded(self) -> None:
        """Note a success: errors before it no longer count."""
        self._failures = 0
        self._until_s = 0.0

    def give_up(self) -> None:
        """Rest for good."""
        self._until_s = float("inf")

    def is_active(self, now_s: float) -> bool:
        """Whether to leave the engine alone."""
        # No lock: this reads one value, which the failing engine's thread replaces as a whole.
        return now_s < self._until_s

    @property
    def is_exhausted(self) -> bool:
        """Whether it has rested and no success has come since, though it may be tried."""
        # By the errors and not by the time: the end of a rest proves nothing yet.
        return self._failures >= self._after or self._until_s == float("inf")
