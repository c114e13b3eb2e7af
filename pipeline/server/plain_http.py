"""Answers to http where the port speaks https only: the right address, or what a phone will show.

A certificate that no public authority has signed makes phones warn. Then the page comes first that
says why, and what to touch. Pure, but for reading that page.
"""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from urllib.parse import urlsplit

from websockets.http11 import Response

from pipeline.core.resources import bundled
from pipeline.server.pages import INLINE, refuse, respond

_REQUEST = re.compile(rb"(?P<method>GET|HEAD) (?P<path>/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(
    rb"\r\nhost:[ \t]*(?P<host>([a-z0-9.\-]+|\[[0-9a-f:]+\])(:\d{1,5})?)\r\n",
    re.IGNORECASE,
)


def is_plain(begin: bytes) -> bool:
    """Return whether a connection begins with an http request, and not with a TLS handshake."""
    return begin.startswith((b"GET ", b"HEAD "))


def answer_plain(request: bytes, address: str, *, is_public: bool) -> bytes:
    """Return the answer to a plain request.

    `address` is that of the settings, "" for the one that was asked. With `is_public` phones trust
    the certificate, and are sent on at once.
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
    # Nothing of the request stands in the page but its host, which has letters and digits only.
    body = _page().replace(b'href="/"', f'href="{origin}/"'.encode())
    body = body.replace(b"<!--address-->", f"{origin}/".encode())
    return respond(HTTPStatus.OK, body, "text/html; charset=utf-8", INLINE)


@cache
def _page() -> bytes:
    return (bundled("displays") / "certificate.html").read_bytes()
