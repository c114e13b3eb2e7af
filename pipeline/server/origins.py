"""Keep pages of other sites from acting as operators through a browser. Pure.

A browser opens sockets to this machine for any page it shows, but tells the truth about where the
page came from (`Origin`) and which name it asked for (`Host`). A page of another site has another
origin; one whose owner points his own name at this machine (DNS rebinding) has that name as host.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_LOCAL = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
"""Endings of names that nobody can register."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


def foreign(host: str | None, origin: str | None, address: str) -> bool:
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
    return page is not None and _place(page) != _place(asked, page.scheme)


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address with a host and a valid port, else None."""
    try:
        parts = urlsplit(url)
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
        return "." not in host or host.endswith(_LOCAL)
    return True
