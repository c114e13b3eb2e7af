"""Limit the connections and requests of each address, so that one cannot crowd out the others.

Pure. Times are seconds of one clock, passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

from pipeline.server.access import TrustedNetworks, client_network

REQUESTS_PER_S = 100.0
"""Limit of one address. A page takes up to ten requests; behind a proxy, a hall is one address."""
REQUESTS_AT_ONCE = 4000
"""Enough for a congregation that opens the page at the same moment."""
ANSWERED = 64
"""Connections above `per_address` that get an error response; further ones are just closed."""
_ADDRESSES = 1024  # remembered; one more removes the oldest

Refusal: TypeAlias = Literal["too-many-connections", "too-many-requests"]

REFUSED: Mapping[Refusal, str] = {
    "too-many-connections": "This address has too many connections (server.max_per_address).",
    "too-many-requests": "This address asks for too much; wait a moment.",
}


class TokenBucket:
    """Allows `burst` events at once and `per_s` a second in the long run."""

    __slots__ = ("_at_s", "_burst", "_left", "_per_s")

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = float(burst)
        # Long ago on any clock: the first `take` finds the bucket full.
        self._at_s = 0.0

    def take(self, now_s: float) -> bool:
        """Use one token; return False if there is none."""
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


class ConnectionLimiter:
    """Counts connections and requests by client network (see `client_network`).

    In total at most `most` connections are open, and `per_address` of each address. `trusted`
    networks have `kept` more in total. These numbers may change at run time.
    """

    def __init__(self, most: int, per_address: int, trusted: TrustedNetworks | None = None) -> None:
        self.most = most
        self.per_address = per_address
        self.kept = 0
        self.trusted = trusted or TrustedNetworks()
        self.total = 0
        self._inside: Counter[str] = Counter()
        self._requests: dict[str, TokenBucket] = {}

    def is_full(self, address: str) -> bool:
        """Whether one more connection of this address would exceed the total limit."""
        return self.total >= self.most + (self.kept if address in self.trusted else 0)

    def has_its_share(self, address: str) -> bool:
        """Whether this address has as many connections as one address may have."""
        return self._inside[client_network(address)] >= self.per_address + ANSWERED

    def enter(self, address: str) -> bool:
        """Count a new connection; return False if it must be closed."""
        may_stay = not self.is_full(address) and not self.has_its_share(address)
        address = client_network(address)
        # Counted even if refused: `leave` follows for each connection that the system accepted.
        self.total += 1
        self._inside[address] += 1
        return may_stay

    def leave(self, address: str) -> None:
        """Count a closed connection, also one that `enter` refused."""
        address = client_network(address)
        self.total -= 1
        self._inside[address] -= 1
        # Otherwise every address would be kept: a scan of IPv6 never ends.
        if not self._inside[address]:
            del self._inside[address]

    def refusal(self, address: str, now_s: float) -> Refusal | None:
        """Count a request of an open connection; return why to refuse it, or None."""
        address = client_network(address)
        if self._inside[address] > self.per_address:
            return "too-many-connections"
        bucket = self._requests.get(address)
        if bucket is None:
            bucket = self._requests[address] = TokenBucket(REQUESTS_PER_S, REQUESTS_AT_ONCE)
            if len(self._requests) > _ADDRESSES:
                del self._requests[next(iter(self._requests))]
        return None if bucket.take(now_s) else "too-many-requests"
