"""Captions as server-sent events over plain HTTP: `GET /events` (docs/PROTOCOL.md).

For clients without a WebSocket: networks that allow web pages only, curl, a script of ten lines.
"""

from __future__ import annotations

import re
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import quote

import orjson
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

CONTENT_TYPE = "text/event-stream; charset=utf-8"
_RETRY_MS = 2000  # after this time a browser reconnects by itself
_ID = re.compile(r"([^/]{1,200})/([0-9]{1,16})")


class EventStream(Response):
    """The head of an endless response; events follow."""

    def __init__(self, content_type: str = CONTENT_TYPE) -> None:
        headers = {
            "Date": formatdate(usegmt=True),
            "Connection": "close",
            "Content-Type": content_type,
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",  # nginx would hold it back
            # As with sockets, pages of any origin may read.
            "Access-Control-Allow-Origin": "*",
        }
        super().__init__(HTTPStatus.OK.value, HTTPStatus.OK.phrase, Headers(headers))


def query_of(request: Request) -> str:
    """Return a request's query; a `Last-Event-ID` adds the point where an earlier stream ended."""
    query = request.path.partition("?")[2]
    last = _ID.fullmatch(",".join(request.headers.get_all("Last-Event-ID")))
    # In front: the first of two values counts, and the page's own may be hours old.
    return f"session={quote(last[1])}&since={last[2]}&{query}" if last else query


class EventWriter:
    """Converts the messages of a socket into the events of one stream."""

    def __init__(self) -> None:
        self._session = ""

    def event(self, message: bytes) -> bytes:
        """Return a message as an event, with the id that a browser sends when it reconnects."""
        kind, session, seq = _head_of(message)
        if kind == "alive":
            # A comment keeps the connection open, and does not call the page's script.
            return b": alive\n\n"
        if kind == "hello":
            self._session = session
        lines = [b"data: " + message, b"", b""]  # JSON on one line
        if self._session and kind in ("hello", "caption"):
            lines.insert(0, f"id: {self._session}/{seq}".encode())
        if kind == "hello":
            lines.insert(0, b"retry: %d" % _RETRY_MS)
        return b"\n".join(lines)


@lru_cache(maxsize=4)  # one message goes to all streams, one after another
def _head_of(message: bytes) -> tuple[str, str, int]:
    """Return a message's type, session and seq; "" and 0 for missing fields."""
    found = orjson.loads(message)
    return found["type"], found.get("session", ""), found.get("seq", 0)
