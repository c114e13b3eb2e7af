"""Wrong operator tokens, counted by address, so that guessing is slow and soon stops."""

from __future__ import annotations

LIMIT = 8
"""Wrong tokens before an address is locked out."""
LOCK_S = 60.0
"""How long it is locked out, and how long a wrong token counts."""
_ADDRESSES = 1024  # remembered; an attack from more addresses pushes out the oldest


class Attempts:
    """Counts per address. Times are seconds of any one clock, passed in."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, float]] = {}

    def locked(self, address: str, now_s: float) -> bool:
        """Tell whether the address has to wait."""
        count, last_s = self._failures.get(address, (0, 0.0))
        if count and now_s - last_s >= LOCK_S:
            del self._failures[address]
            return False
        return count >= LIMIT

    def failed(self, address: str, now_s: float) -> None:
        """Count a wrong token."""
        count, _ = self._failures.pop(address, (0, 0.0))
        self._failures[address] = (count + 1, now_s)
        if len(self._failures) > _ADDRESSES:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, address: str) -> None:
        """Forget the address's wrong tokens."""
        self._failures.pop(address, None)
