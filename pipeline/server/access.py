"""Decide who may become an operator: this server's own pages, and no guesser of tokens. Pure.

A browser opens sockets to this machine for any page that it shows. But no page can make it lie
about where the page came from (`Origin`) and which name it asked for (`Host`). A page of another
site has another origin; if its owner points a name at this machine (DNS rebinding), `Host` is that
name. Wrong tokens are counted by address and in total, so that guessing is slow and soon stops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

_LOCAL = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
"""Endings of host names that nobody can register."""
# Unique local addresses (RFC 4193): those of one building.
_LOCAL_IPV6 = ip_network("fc00::/7")
_DEFAULT_PORTS = {"http": 80, "https": 443}

LIMIT = 8
"""Wrong tokens from one address before it is locked out."""
LIMIT_IN_ALL = 64
"""Wrong tokens from anywhere before everybody is locked out, except this machine and clients that
have logged in before."""
LOCK_S = 60.0
"""Length of a lock-out, and how long a wrong token counts."""
LONG = 10
"""Minimum length of a token that cannot be guessed; the program's own tokens have 22."""
_ADDRESSES = 1024  # remembered; an attack from more addresses pushes out the oldest
_TRUSTED = 4096  # networks; only a token's owner can add one, and none is ever removed


class TrustedNetworks:
    """The networks of this machine and of clients that have logged in.

    Connections are reserved for them, and guesses from elsewhere do not lock them out.
    """

    def __init__(self) -> None:
        self._networks = set(map(client_network, ("127.0.0.1", "::1")))

    def __contains__(self, address: str) -> bool:
        return client_network(address) in self._networks

    def add(self, address: str) -> None:
        """Trust the network of an address from now on."""
        # If it is full, the newest is not added: the desk logged in before all of them.
        if len(self._networks) < _TRUSTED:
            self._networks.add(client_network(address))


class LoginThrottle:
    """Counts wrong tokens by address. Times are seconds of one clock, passed in."""

    def __init__(self, trusted: TrustedNetworks | None = None) -> None:
        self.trusted = trusted or TrustedNetworks()
        self._failures: dict[str, tuple[int, float]] = {}
        self._in_all: deque[float] = deque(maxlen=LIMIT_IN_ALL)

    def is_locked(self, address: str, now_s: float) -> bool:
        """Return whether the address is locked out."""
        # Only as many as the limit are kept: while the oldest counts, all of them do.
        attack = len(self._in_all) == LIMIT_IN_ALL and now_s - self._in_all[0] < LOCK_S
        if attack and address not in self.trusted:  # operators must not be locked out by it
            return True
        address = client_network(address)
        count, last_s = self._failures.get(address, (0, 0.0))
        # Counted from the last wrong token: a client that goes on guessing stays locked out.
        if count and now_s - last_s >= LOCK_S:
            del self._failures[address]
            return False
        return count >= LIMIT

    def is_refused(self, token: str, address: str, now_s: float, *, is_right: bool) -> bool:
        """Return whether to refuse a token because the address is locked out.

        Behind a proxy or a router, everybody has the operator's address, and guesses there must not
        lock the operator out. On a trusted network, a right token too long to guess is valid.
        """
        is_no_guess = is_right and len(token) >= LONG and address in self.trusted
        return not is_no_guess and self.is_locked(address, now_s)

    def failed(self, address: str, now_s: float) -> None:
        """Count a wrong token."""
        address = client_network(address)
        self._in_all.append(now_s)
        # Added again at the end: an address that fails now is not the next one to be removed.
        count, _ = self._failures.pop(address, (0, 0.0))
        self._failures[address] = (count + 1, now_s)
        if len(self._failures) > _ADDRESSES:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, address: str) -> None:
        """Forget the address's wrong tokens and trust it during an attack."""
        self._failures.pop(client_network(address), None)
        self.trusted.add(address)


def client_network(address: str) -> str:
    """Return the network whose limits apply to an address: itself, or the /64 of public IPv6.

    On the public internet, one client owns at least a /64. In a local network (fc00::/7, fe80::/10)
    all clients share one, and each address counts by itself.
    """
    try:
        # A link-local address comes with its interface: fe80::1%eth0.
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    if known.is_link_local or known in _LOCAL_IPV6:
        return str(known)
    # IPv4-mapped addresses are all in one /64, but are many clients.
    return str(known.ipv4_mapped or IPv6Address(int(known) >> 64 << 64))


def is_cross_origin(host: str | None, origin: str | None, address: str) -> bool:
    """Return whether a request comes from a foreign page and must not log in.

    `host` and `origin` are its headers; programs other than browsers send no origin. `address` is
    the server's address in the settings, or empty.
    """
    ours = _split(address) if address else None
    asked = _split(f"//{host}") if host else None
    page = _split(origin) if origin is not None else None
    if origin is not None and page is None:
        return True  # "null", or an origin that no browser sends
    if ours and page and _place(page) == _place(ours):
        return False  # a proxy in between may have changed `Host`
    if asked is None or not (
        _is_local(asked.hostname) or (ours and asked.hostname == ours.hostname)
    ):
        return True
    # `Host` has no scheme: the scheme of the page gives the default port.
    return page is not None and _place(page) != _place(asked, page.scheme)


def is_foreign(hosts: Sequence[str], origins: Sequence[str], address: str) -> bool:
    """Return `is_cross_origin` of all Host and Origin headers. No browser sends two of a kind."""
    if max(len(hosts), len(origins)) > 1:
        return True
    return is_cross_origin("".join(hosts) or None, origins[0] if origins else None, address)


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address with a host and a valid port, else None."""
    try:
        parts = urlsplit(url)
        # Reading `port` raises ValueError for a number that is too large.
        wrong = not parts.hostname or parts.port == 0
    except ValueError:
        return None
    return None if wrong else parts


def _place(url: SplitResult, scheme: str = "") -> tuple[str | None, int | None]:
    return url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme or scheme)


def _is_local(host: str | None) -> bool:
    if not host:
        return False
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        # A name without a dot belongs to this network: nobody can register it.
        return "." not in host or host.endswith(_LOCAL)
    # The owner of a name can point it at another machine, but nobody can do that to an IP address.
    return True
