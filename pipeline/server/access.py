"""Decide who may become an operator: this server's own pages, and nobody who guesses tokens. Pure.

A browser opens sockets to this machine for any page that it shows. What it cannot be made to lie
about is where the page came from (`Origin`) and which name it asked (`Host`). A page of another
site has another origin; one whose owner points a name of his at this machine (DNS rebinding) has
that name as its host. Wrong tokens are counted by address and in all, so that guessing is slow and
soon stops.
"""

from __future__ import annotations

from collections import deque
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

_LOCAL = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
"""Endings of names that nobody can register."""
# Unique local addresses (RFC 4193): those of one building.
_LOCAL_IPV6 = ip_network("fc00::/7")
_DEFAULT_PORTS = {"http": 80, "https": 443}

LIMIT = 8
"""Wrong tokens before an address is locked out."""
LIMIT_IN_ALL = 64
"""Wrong tokens from anywhere before everybody is locked out, except this machine and clients that
have logged in before."""
LOCK_S = 60.0
"""Length of a lock-out, and how long a wrong token counts."""
LONG = 10
"""Characters of a token that is no guess; those that the program makes have 22."""
_ADDRESSES = 1024  # remembered; an attack from more addresses pushes out the oldest
_TRUSTED = 4096  # networks; only who has the token adds one, and none is ever pushed out


class TrustedNetworks:
    """The networks of this machine and of those who have logged in.

    Places are kept for them, and guesses from elsewhere do not lock them out.
    """

    def __init__(self) -> None:
        self._networks = set(map(client_network, ("127.0.0.1", "::1")))

    def __contains__(self, address: str) -> bool:
        return client_network(address) in self._networks

    def add(self, address: str) -> None:
        """Trust the network of an address from now on."""
        # When it is full the newest stays outside: the desk logged in before all of them.
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
        # No more are kept than the limit: while the oldest still counts, all of them do.
        attack = len(self._in_all) == LIMIT_IN_ALL and now_s - self._in_all[0] < LOCK_S
        if attack and address not in self.trusted:  # operators must not be locked out by it
            return True
        address = client_network(address)
        count, last_s = self._failures.get(address, (0, 0.0))
        # Counted from the last wrong token: whoever goes on guessing stays out.
        if count and now_s - last_s >= LOCK_S:
            del self._failures[address]
            return False
        return count >= LIMIT

    def is_refused(self, token: str, address: str, now_s: float, *, is_right: bool) -> bool:
        """Return whether a token is not to be taken, since the address is locked out.

        Behind a proxy or a router everybody has the operator's address, and guesses there must not
        keep the operator out: where it is trusted, a right token holds if it is too long to guess.
        """
        is_no_guess = is_right and len(token) >= LONG and address in self.trusted
        return not is_no_guess and self.is_locked(address, now_s)

    def failed(self, address: str, now_s: float) -> None:
        """Count a wrong token."""
        address = client_network(address)
        self._in_all.append(now_s)
        # Put in again behind the others: who fails now is not the one to be pushed out.
        count, _ = self._failures.pop(address, (0, 0.0))
        self._failures[address] = (count + 1, now_s)
        if len(self._failures) > _ADDRESSES:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, address: str) -> None:
        """Forget the address's wrong tokens and trust it during an attack."""
        self._failures.pop(client_network(address), None)
        self.trusted.add(address)


def client_network(address: str) -> str:
    """Return whose limits an address has: its own, or those of a /64 of the IPv6 internet.

    There one client owns at least that much. In a local network (fc00::/7, fe80::/10) all clients
    share it, and each address counts by itself.
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
    # Mapped IPv4 addresses are all in one /64, and are many clients.
    return str(known.ipv4_mapped or IPv6Address(int(known) >> 64 << 64))


def is_cross_origin(host: str | None, origin: str | None, address: str) -> bool:
    """Return whether a request comes from a foreign page and must not log in.

    `host` and `origin` are its headers; programs other than browsers send no origin. `address` is
    the server's address in the settings, empty if there is none.
    """
    ours = _split(address) if address else None
    asked = _split(f"//{host}") if host else None
    page = _split(origin) if origin is not None else None
    if origin is not None and page is None:
        return True  # "null", or nothing that a browser sends
    if ours and page and _place(page) == _place(ours):
        return False  # a proxy in between may have changed the host
    if asked is None or not (
        _is_local(asked.hostname) or (ours and asked.hostname == ours.hostname)
    ):
        return True
    # `Host` names no scheme: the page's own says which port goes without saying.
    return page is not None and _place(page) != _place(asked, page.scheme)


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
        # A name without a dot is one of this network: nobody can register it.
        return "." not in host or host.endswith(_LOCAL)
    # Nobody can point an address in numbers at another machine, as the owner of a name can.
    return True
