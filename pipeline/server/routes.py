"""Answer plain HTTP requests: pages, /healthz, /metrics, the address (docs/PROTOCOL.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import orjson
from websockets.http11 import Request, Response

from pipeline.core.errors import ProtocolError
from pipeline.core.metrics import CONTENT_TYPE, Metrics
from pipeline.core.types import State
from pipeline.server.addresses import qr_svg, wifi_text
from pipeline.server.boards import Boards
from pipeline.server.pages import Pages, refuse, respond
from pipeline.server.streams.event_stream import CONTENT_TYPE as EVENTS
from pipeline.server.streams.event_stream import EventStream
from pipeline.server.streams.live_subtitles import PREFIX as SUBTITLES
from pipeline.server.streams.live_subtitles import LiveSubtitles
from pipeline.server.streams.voice_streams import PATH as VOICE
from pipeline.server.streams.voice_streams import VoiceStreams

_CODE = re.compile(r"[0-9]{6}")
_WIFI_NAME, _WIFI_PASSWORD = 32, 63  # the longest that Wi-Fi has

DOWN: frozenset[State] = frozenset({"no-audio", "fault", "ended"})
"""States in which a daemon makes no captions."""


class Endpoints:
    """Answers requests. Belongs to the event loop's thread."""

    def __init__(
        self,
        pages: Pages,
        *,
        metrics: Metrics,
        health: Callable[[], Mapping[str, Any]],
        address: Callable[[], str],
        boards: Callable[[], Boards],
        past: Callable[[], bool],
        down: frozenset[State],
        subtitles: LiveSubtitles | None,
        voices: VoiceStreams,
    ) -> None:
        """Take the pages.

        `health` gives the fields of /healthz; if its `state` is in `down`, the status is 503.
        `address` gives the audience page's address, `boards` what can be read there, `past` whether
        everybody may read past services. Without `subtitles` there are none for streams.
        """
        self._pages = pages
        self._metrics = metrics
        self._health = health
        self._address = address
        self._boards = boards
        self._past = past
        self._down = down
        self._subtitles = subtitles
        self._voices = voices

    def answer(self, request: Request, *, full: bool) -> Response | None:
        """Answer a request; None lets the socket open, unless the hall is `full`."""
        if request.method not in ("GET", "HEAD"):
            return refuse(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET.", {"Allow": "GET, HEAD"})
        match request.path.partition("?")[0]:
            case "/ws" | "/events" if full:
                later = {"Retry-After": "10"}
                response = refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many displays.", later)
            case "/ws":
                return None
            case "/events" if request.method == "GET":
                response = self._open_stream(request)
            # HEAD gets no stream: nothing would ever end it.
            case "/events":
                response = respond(HTTPStatus.OK, b"", EVENTS)
            case "/healthz":
                # 503 is for monitors that check only the status code, such as a load balancer.
                health = self._health()
                down = health["state"] in self._down
                status = HTTPStatus.SERVICE_UNAVAILABLE if down else HTTPStatus.OK
                response = respond(status, orjson.dumps(health), "application/json")
            case "/metrics":
                response = respond(HTTPStatus.OK, self._metrics.exposition(), CONTENT_TYPE)
            case "/address":
                body = {"address": self._address(), "langs": self._boards().langs}
                answer = orjson.dumps(body | {"past": self._past()})
                response = respond(HTTPStatus.OK, answer, "application/json")
            case "/qr.svg" | "/wifi.svg":
                response = self._code(request)
            case path if path == VOICE or path.startswith(f"{VOICE}/"):
                response = self._voices.answer(request)
            case path if path.startswith(SUBTITLES):
                response = self._answer_subtitles(request)
            case _:
                response = self._pages.answer(request)
        return response

    def _answer_subtitles(self, request: Request) -> Response:
        if self._subtitles is None:
            return refuse(
                HTTPStatus.NOT_FOUND,
                'Subtitles for streams are off: add [[outputs]] with program = "hls".',
            )
        return self._subtitles.answer(request)

    def _code(self, request: Request) -> Response:
        """Return the QR code of the pages, or of the Wi-Fi that is typed in for the poster.

        With a `code`, it leads to the operator's page, where this code pairs the device.
        """
        path, _, query = request.path.partition("?")
        typed = parse_qs(query)
        if path == "/qr.svg":
            code = typed.get("code", [""])[-1]
            # Browsers send nothing after `#`, so no proxy on the way logs the code.
            page = f"operator#code={code}" if _CODE.fullmatch(code) else ""
            return respond(HTTPStatus.OK, qr_svg(self._address() + page), "image/svg+xml")
        name, password = (typed.get(key, [""])[0] for key in ("name", "password"))
        if not 0 < len(name) <= _WIFI_NAME or len(password) > _WIFI_PASSWORD:
            says = f"A name of 1 to {_WIFI_NAME} letters, a password of at most {_WIFI_PASSWORD}."
            return refuse(HTTPStatus.BAD_REQUEST, says)
        return respond(HTTPStatus.OK, qr_svg(wifi_text(name, password)), "image/svg+xml")

    def _open_stream(self, request: Request) -> Response:
        try:
            # Checked now: once a stream is open, an error cannot be sent to its display.
            self._boards().subscription(request)
        except ProtocolError as problem:
            self._metrics.client_errors.labels(problem.code).inc()
            return refuse(HTTPStatus.BAD_REQUEST, problem.message)
        return EventStream()
