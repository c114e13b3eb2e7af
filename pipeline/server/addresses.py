"""The address of the pages, as text and QR code; answers to http if the port speaks https.

It also finds the program that uses a port that cannot be bound.
"""

from __future__ import annotations

import errno
import http.client
import re
import socket
import ssl
from contextlib import suppress
from functools import cache, lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil
import segno
from segno.helpers import make_wifi_data
from websockets.http11 import Response

from pipeline.config.schema import Server
from pipeline.core.errors import ServerError
from pipeline.core.resources import bundled
from pipeline.server.pages import INLINE, refuse, respond

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
"""Hosts that mean every address of this machine."""
LOOPBACK = ("127.", "::1", "localhost")
"""Beginnings of hosts that only this machine reaches."""

# Printable ASCII only: the path goes into the answer's `Location`.
_REQUEST = re.compile(rb"(?P<method>GET|HEAD) (?P<path>/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(
    rb"\r\nhost:[ \t]*(?P<host>([a-z0-9.\-]+|\[[0-9a-f:]+\])(:\d{1,5})?)\r\n", re.IGNORECASE
)


def unbound(settings: Server, problem: OSError) -> ServerError:
    """Return the error of a port that could not be bound."""
    where = f"{settings.host}:{settings.port}"
    match problem.errno:
        case errno.EADDRINUSE:
            other = "choose another with --port or server.port (0 picks a free one)"
            who, fix = "another program", f"Stop it, or {other}."
            # The process may end meanwhile, as in a restart: then it is not named.
            with suppress(psutil.Error):
                if process := owner(settings.port):
                    is_stopped = process.status() == psutil.STATUS_STOPPED
                    who = f"{process.name()} (process {process.pid})"
                    if is_stopped:
                        who += ", which Ctrl-Z has suspended"
                        fix = "Type `fg` in its window, or end it: `stark-translate stop`. "
                        fix += f"Or {other}."
            if session := health_at(settings, 1.0).get("session"):
                who = f"{who}, the running session {session}"
                fix = "Nothing to do if that is the service; `stark-translate stop` ends it. "
                fix += f"Or {other}."
            return ServerError(
                "port-in-use", f"Port {settings.port} on {settings.host} is taken by {who}.", fix
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


def owner(port: int) -> psutil.Process | None:
    """Return the process that listens at a port; None if this user may not know it."""
    try:
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr.port == port and each.pid:
                return psutil.Process(each.pid)
    except (psutil.Error, OSError):
        pass
    return None


def health_at(server: Server, timeout_s: float = 2.0) -> dict[str, Any]:
    """Return /healthz of our program at this port, {} if none answers."""
    host = "127.0.0.1" if server.host in EVERYWHERE else server.host
    connection = http.client.HTTPConnection(host, server.port, timeout=timeout_s)
    if server.tls_cert:
        anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the request has no secrets
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            host, server.port, timeout=timeout_s, context=anybody
        )
    try:
        connection.request("GET", "/healthz")
        # Any program may listen there: its answer is limited, and may not be ours.
        health = orjson.loads(connection.getresponse().read(65_536))
        return dict(health) if {"session", "protocol", "state"} <= health.keys() else {}
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        return {}
    finally:
        connection.close()


def page_address(host: str, port: int, *, secure: bool = False) -> str:
    """Return the audience page's URL; a host for all interfaces becomes this machine's address."""
    if host in EVERYWHERE:
        host = local_address()
    scheme = "https" if secure else "http"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"


def public_address(settings: Server) -> str:
    """Return the audience page's URL for other devices: as set, else this machine's."""
    secure = bool(settings.tls_cert)
    return settings.address or page_address(settings.host, settings.port, secure=secure)


def wifi_text(name: str, password: str) -> str:
    """Return the text of a QR code for joining a Wi-Fi; without a password, an open Wi-Fi."""
    if not password:
        return str(make_wifi_data(ssid=name, password=None, security="nopass"))
    return str(make_wifi_data(ssid=name, password=password, security="WPA"))


def own_address(settings: Server) -> str:
    """Return the address of the pages for a browser of this machine."""
    secure = bool(settings.tls_cert)
    if secure and settings.address:
        return settings.address  # browsers warn of a name that is not in the certificate
    here = "127.0.0.1" if settings.host in EVERYWHERE and not secure else settings.host
    return page_address(here, settings.port, secure=secure)


@lru_cache(maxsize=4)
def qr_svg(address: str) -> bytes:
    """Return a QR code that a phone's camera reads from a few metres away, as an SVG image."""
    out = BytesIO()
    # Error correction level M: a quarter larger than L, and a crease or a stain does not matter.
    # `light`: by default an SVG has no background, and on a dark page no phone could read it.
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


def is_plain(begin: bytes) -> bool:
    """Return whether a connection begins with an http request, and not with a TLS handshake."""
    return begin.startswith((b"GET ", b"HEAD "))


def answer_plain(request: bytes, address: str, *, is_public: bool) -> bytes:
    """Return the answer to a plain http request: a redirect, or the page on the certificate.

    Phones warn of a certificate that no public authority has signed: the page explains this first.
    With `is_public` they are redirected at once. An empty `address` means the requested host.
    """
    asked, named = _REQUEST.match(request), _HOST.search(request)
    configured = urlsplit(address).netloc if address.startswith("https://") else ""
    host = configured or (named["host"].decode() if named else "")
    if asked is None or not host:
        return refuse(HTTPStatus.BAD_REQUEST, "This port speaks https only.").serialize()
    response = _lead(f"https://{host}", asked["path"].decode(), is_public=is_public)
    if asked["method"] == b"HEAD":
        response.body = b""
    return response.serialize()


def _lead(origin: str, path: str, *, is_public: bool) -> Response:
    if is_public:
        return refuse(HTTPStatus.FOUND, f"Open {origin}{path}", {"Location": f"{origin}{path}"})
    # The page has nothing of the request but its host, which has letters and digits only.
    body = _page().replace(b'href="/"', f'href="{origin}/"'.encode())
    body = body.replace(b"<!--address-->", f"{origin}/".encode())
    return respond(HTTPStatus.OK, body, "text/html; charset=utf-8", INLINE)


@cache
def _page() -> bytes:
    return (bundled("displays") / "certificate.html").read_bytes()
