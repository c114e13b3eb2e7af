"""The address of the pages, as text and QR code, and errors of a port that cannot be bound."""

from __future__ import annotations

import errno
import socket
from functools import lru_cache
from io import BytesIO

import psutil
import segno
from segno.helpers import make_wifi_data

from pipeline.config.schema import Server
from pipeline.core.errors import ServerError

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
"""Hosts that mean every address of this machine."""


def unbound(settings: Server, problem: OSError) -> ServerError:
    """Return the error of a port that could not be bound."""
    where = f"{settings.host}:{settings.port}"
    match problem.errno:
        case errno.EADDRINUSE:
            return ServerError(
                "port-in-use",
                f"Port {settings.port} on {settings.host} is taken by {_owner(settings.port)}.",
                "Stop it, or choose another with --port or server.port (0 picks a free one).",
            )
        case errno.EACCES | errno.EPERM:
            return ServerError(
                "port-forbidden",
                f"This user may not use {where}.",
                "Choose a server.port from 1024 on.",
            )
        case _:
            return ServerError(
                "address-unavailable",
                f"{where} cannot be used: {problem.strerror or problem}.",
                'server.host must be an address of this machine, or "0.0.0.0" for all.',
            )


def _owner(port: int) -> str:
    """Return the program that listens at a port, as far as this user may know."""
    try:
        listening = (
            each.pid
            for each in psutil.net_connections("tcp")
            if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port
        )
        for pid in filter(None, listening):
            return f"{psutil.Process(pid).name()} (process {pid})"
    except (psutil.Error, OSError):
        pass
    return "another program"


def page_address(host: str, port: int, *, secure: bool = False) -> str:
    """Return the audience page's URL; a host that means all becomes this machine's address."""
    if host in EVERYWHERE:
        host = local_address()
    scheme = "https" if secure else "http"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"


def wifi_text(name: str, password: str) -> str:
    """Return what a QR code says so that a phone joins a Wi-Fi; without a password an open one."""
    if not password:
        return str(make_wifi_data(ssid=name, password=None, security="nopass"))
    return str(make_wifi_data(ssid=name, password=password, security="WPA"))


@lru_cache(maxsize=4)
def qr_svg(address: str) -> bytes:
    """Return a QR code that a phone's camera reads from a few metres away, as an SVG image."""
    out = BytesIO()
    # Error correction level M: a quarter larger than L, and a crease or a stain does not matter.
    # `light`: by itself an SVG has no ground, and on a dark page no phone could read it.
    segno.make_qr(address, error="m").save(
        out, kind="svg", omitsize=True, light="#fff", xmldecl=False, title=address
    )
    return out.getvalue()


def local_address() -> str:
    """Return this machine's address in the local network, 127.0.0.1 without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a documentation address; connecting sends nothing
        except OSError:
            return "127.0.0.1"  # no network at all
        return str(probe.getsockname()[0])
