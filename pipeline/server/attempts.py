"""Lock out clients that guess operator tokens, by address and in total."""

from __future__ import annotations

from collections import deque
from ipaddress import IPv6Address, ip_address

LIMIT = 8
"""Wrong tokens before an address is locked out."""
LIMIT_IN_ALL = 64
"""Wrong tokens from anywhere before everybody is locked out, except this machine and clients that
have logged in before."""
LOCK_S = 60.0
"""Length of a lock-out, and how long a wrong token counts."""
_ADDRESSES = 1024  # remembered; an attack from more addresses pushes out the oldest


class LoginThrottle:
    """Counts wrong tokens by address. Times are seconds of one clock, passed in."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, float]] = {}
        self._in_all: deque[float] = deque(maxlen=LIMIT_IN_ALL)
        # This machine, then others in the order of their first success: the oldest goes first.
        self._trusted: dict[str, None] = dict.fromkeys(map(holder, ("127.0.0.1", "::1")))

    def locked(self, address: str, now_s: float) -> bool:
        """Return whether the address is locked out."""
        address = holder(address)
        attack = len(self._in_all) == LIMIT_IN_ALL and now_s - self._in_all[0] < LOCK_S
        if attack and address not in self._trusted:  # operators must not be locked out by it
            return True
        count, last_s = self._failures.get(address, (0, 0.0))
        if count and now_s - last_s >= LOCK_S:
            del self._failures[address]
            return False
        return count >= LIMIT

    def failed(self, address: str, now_s: float) -> None:
        """Count a wrong token."""
        address = holder(address)
        self._in_all.append(now_s)
        count, _ = self._failures.pop(address, (0, 0.0))
        self._failures[address] = (count + 1, now_s)
        if len(self._failures) > _ADDRESSES:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, address: str) -> None:
        """Forget the address's wrong tokens and trust it during an attack."""
        address = holder(address)
        self._failures.pop(address, None)
        self._trusted[address] = None
        if len(self._trusted) > _ADDRESSES:
            del self._trusted[next(iter(self._trusted))]


def holder(address: str) -> str:
    """Return the address, or the /64 of an IPv6 address: one client owns at least that."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    return str(known.ipv4_mapped or IPv6Address(int(known) >> 64 << 64))
