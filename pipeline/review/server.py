"""Serve the review page and its socket for one session, to holders of the operator's token.

The token is sent once, in a header of `/review/enter`, in exchange for a cookie that is valid only
for this run of the program; page scripts cannot read it, other sites cannot send it.
Socket messages are JSON objects. To the page: `review` with all items; then `item` for each decided
item, to every open page; `error` for a refused message. From the page: `decide`.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, TypeAdapter
from websockets.asyncio.server import Server, ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from pipeline.config import schema
from pipeline.core.errors import ProtocolError, SessionError, StarkError
from pipeline.protocol.caption import Count
from pipeline.protocol.codec import MAX_BYTES, parse_json
from pipeline.protocol.commands import Phrase, Text
from pipeline.review.report import report
from pipeline.review.store import Review
from pipeline.server.access import LoginThrottle, is_foreign
from pipeline.server.addresses import page_address, unbound
from pipeline.server.pages import refuse, respond, shipped_pages
from pipeline.server.past_routes import bearer
from pipeline.session.recordings import recording_path

_COOKIE = "stark-review"
_SOUND = "/review/sound/"
_DIGITS = 16
_TOKEN_FIRST = (HTTPStatus.UNAUTHORIZED, "Open /review and give the token first.")
# With the throttle, it makes guessing over the network slow; a typing error costs a second.
_WRONG_TOKEN_S = 1.0  # how long a wrong token's answer is held back
# Stricter than the policy of the pages: text of a service must never run as a script here.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    type: Literal["decide"]
    id: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class _Approval(_About):
    outcome: Literal["approved", "corrected"]
    reviewer: Phrase
    source: Text
    target: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal(_About):
    outcome: Literal["rejected", "open"]
    reviewer: Phrase
    # Empty, so that both kinds of decisions have the same fields for `_take`.
    source: Literal[""] = field(default="", init=False)
    target: Literal[""] = field(default="", init=False)


_ABOUT = TypeAdapter(_About)
# Distinguished by the outcome, so that an approval without texts is refused.
_DECISION: TypeAdapter[_Approval | _Refusal] = TypeAdapter(
    Annotated[_Approval | _Refusal, Field(discriminator="outcome")]
)


class ReviewServer:
    """Serves one review until it is closed."""

    def __init__(
        self, review: Review, settings: schema.Server, *, token: str, taught: str = ""
    ) -> None:
        """Read the pages. Raises ServerError (pages-missing).

        `taught` describes what the last review taught, for the page.
        """
        self._review = review
        self._settings = settings
        # Bytes, because compare_digest accepts only ASCII in text.
        self._token = token.encode()
        self._taught = taught
        self._pass = secrets.token_urlsafe(
            32
        )  # the cookie's value; the token itself is in no cookie
        self._attempts = LoginThrottle()
        self._pages = shipped_pages()
        self._connections: set[ServerConnection] = set()
        self._server: Server | None = None
        self.address = ""
        """Address of the review page, once it is served."""

    async def start(self) -> None:
        """Bind the port and serve. Raises ServerError as the hub does."""
        log = logging.getLogger(f"{__name__}.connections")
        log.setLevel(logging.WARNING)  # otherwise it logs every page request
        try:
            self._server = await serve(
                self._serve,
                self._settings.host,
                self._settings.port,
                process_request=self._answer,
                server_header=None,
                compression=None,
                max_size=MAX_BYTES,
                logger=log,
            )
        except OSError as problem:
            raise unbound(self._settings, problem) from problem
        # An IPv6 address has two more elements.
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        self.address = f"{page_address(str(host), int(port))}review"

    async def close(self) -> None:
        """Close the connections and the port."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    # Requests

    async def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None lets the socket open."""
        # A request changes nothing: decisions come over the socket only.
        if request.method not in ("GET", "HEAD"):
            return refuse(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET.", {"Allow": "GET, HEAD"})
        match request.path.partition("?")[0]:
            case "/":
                response = refuse(HTTPStatus.SEE_OTHER, "See /review.", {"Location": "/review"})
            # Before the cookie check: this request issues the cookie.
            case "/review/enter":
                response = await self._enter(connection, request)
            case "/review/socket" | "/review/report" if not self._let_in(request):
                response = refuse(*_TOKEN_FIRST)
            case "/review/socket":
                return None
            case "/review/report":
                response = self._report()
            case path if path.startswith(_SOUND):
                response = self._sound(path) if self._let_in(request) else refuse(*_TOKEN_FIRST)
            case _:
                response = self._pages.answer(request)
        # Last, for all responses: HEAD has the headers of GET.
        if request.method == "HEAD":
            response.body = b""
        return response

    async def _enter(self, connection: ServerConnection, request: Request) -> Response:
        """Issue a cookie for the right token; without a token, say whether one is needed."""
        # The page asks this first: a cookie of an earlier run is no longer valid.
        if not (token := bearer(request)):
            known = orjson.dumps({"known": self._let_in(request)})
            return respond(HTTPStatus.OK, known, "application/json")
        peer = connection.remote_address
        address = str(peer[0]) if peer else ""
        # Before the token is looked at: a page of another site must not even try one.
        if self._is_foreign(request):
            return refuse(HTTPStatus.FORBIDDEN, "Ask this machine by its own name or address.")
        is_right = hmac.compare_digest(token.encode(errors="surrogatepass"), self._token)
        if self._attempts.is_refused(token, address, time.monotonic(), is_right=is_right):
            message = "Too many wrong tokens; wait a minute."
            return refuse(HTTPStatus.TOO_MANY_REQUESTS, message, {"Retry-After": "60"})
        if not is_right:
            self._attempts.failed(address, time.monotonic())
            await asyncio.sleep(_WRONG_TOKEN_S)  # others are served meanwhile
            return refuse(HTTPStatus.FORBIDDEN, "The token is wrong.")
        self._attempts.succeeded(address)
        # Not Secure: in the church's own network the page is served over plain HTTP.
        cookie = f"{_COOKIE}={self._pass}; Path=/review; HttpOnly; SameSite=Strict"
        return respond(HTTPStatus.OK, b'{"known":true}', "application/json", {"Set-Cookie": cookie})

    def _is_foreign(self, request: Request) -> bool:
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        return is_foreign(hosts, origins, self._settings.address)

    def _let_in(self, request: Request) -> bool:
        try:
            # Other programs on this host set cookies as well, and some of them break the format.
            cookie = SimpleCookie("; ".join(request.headers.get_all("Cookie"))).get(_COOKIE)
        except CookieError:
            return False
        given = cookie.value if cookie else ""
        return hmac.compare_digest(
            given.encode(errors="surrogateescape"), self._pass.encode()
        ) and (not self._is_foreign(request))

    def _report(self) -> Response:
        """Return the session's report; it has inline style and no script."""
        try:
            # Rebuilt each time, so that it shows the newest decisions.
            page = report(self._review.folder).encode()
        except SessionError as problem:
            return refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(problem))
        policy = {"Content-Security-Policy": _REPORT_POLICY}
        return respond(HTTPStatus.OK, page, "text/html; charset=utf-8", policy)

    def _sound(self, path: str) -> Response:
        """Return the sound of an utterance, as it was kept."""
        key = path.removeprefix(_SOUND).removesuffix(".flac")
        # Limited in length: `int` raises ValueError for thousands of digits.
        if not (key.isascii() and key.isdecimal() and len(key) < _DIGITS):
            return refuse(HTTPStatus.NOT_FOUND, "There is no such sound.")
        try:
            # Only a number, so that no request can leave the session's folder.
            sound = recording_path(self._review.folder, int(key)).read_bytes()
        except OSError:
            return refuse(HTTPStatus.NOT_FOUND, "The sound of this caption was not kept.")
        return respond(HTTPStatus.OK, sound, "audio/flac")

    # The socket

    async def _serve(self, connection: ServerConnection) -> None:
        # Before the first message: later decisions of other pages reach this page as well.
        self._connections.add(connection)
        try:
            with suppress(ConnectionClosed):
                await connection.send(self._all(), text=True)
                async for raw in connection:
                    self._take(connection, raw)
        finally:
            self._connections.remove(connection)

    def _take(self, connection: ServerConnection, raw: str | bytes) -> None:
        """Store a page's decision and send it to every page, or send this page the error."""
        message: dict[str, Any]
        try:
            decision = parse_json(_DECISION, raw)
            key = decision.id
            self._review.decide(
                key,
                decision.outcome,
                source=decision.source,
                target=decision.target,
                reviewer=decision.reviewer,
            )
        except StarkError as problem:
            message = {
                "type": "error",
                "id": _id(raw),
                "code": problem.code,
                "message": str(problem),
            }
            # `broadcast` never waits: a page that sleeps must not delay the others.
            broadcast([connection], orjson.dumps(message), text=True)
        else:
            # To the sender as well: its page shows a decision as saved only when this comes.
            message = {"type": "item", "item": self._review.item(key), **self._counts()}
            broadcast(self._connections, orjson.dumps(message), text=True)

    def _all(self) -> bytes:
        items = self._review.items()
        message = {
            "type": "review",
            "session": self._review.folder.name,
            "items": items,
            "taught": self._taught,
        }
        return orjson.dumps({**message, **self._counts()})

    def _counts(self) -> dict[str, int]:
        return {"left": self._review.left, "pairs": self._review.pairs}


def _id(raw: str | bytes) -> int | None:
    """Return the item's number in a refused message, None if it has none."""
    try:
        return parse_json(_ABOUT, raw).id
    except ProtocolError:
        return None
