"""Answer requests for past services: the list, one to read, one as a file.

Reading a long service takes processor time, so it is done in a thread, one at a time: the captions
of the running service go first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, unquote

import orjson
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from pipeline.core.errors import ProtocolError, SessionError
from pipeline.protocol.past_services import Archive
from pipeline.server.pages import refuse, respond

PREFIX = "/past"
"""`/past` is the list, `/past/NAME` a service, `/past/NAME/both.srt` a file of it, and
`/past/dashboard.html` the page of all services. `?lang=fr` asks for another caption language."""

Readers: TypeAlias = Literal["off", "operators", "everyone"]
Admit: TypeAlias = Callable[[str, Headers, str], Awaitable[object]]
"""Admits a token that came from an address with these headers, or raises ProtocolError."""

_TYPES = {
    "srt": "application/x-subrip; charset=utf-8",
    "vtt": "text/vtt; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "json": "application/json",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_STATUS = {
    "session-missing": HTTPStatus.NOT_FOUND,
    "dashboard-missing": HTTPStatus.NOT_FOUND,
    "session-empty": HTTPStatus.NOT_FOUND,
    "export-format": HTTPStatus.NOT_FOUND,
    "too-many-attempts": HTTPStatus.TOO_MANY_REQUESTS,
    # Not 403, at which a page deletes its token: this token may be right.
    "foreign-page": HTTPStatus.MISDIRECTED_REQUEST,
}
_DASHBOARD = f"{PREFIX}/dashboard.html"  # for operators only, whatever `readers` says
_WAITING = 32  # requests that may wait for the thread; further ones are told to come back
_ANSWER_S = 7.0
"""After this time a request is told to come back: its connection is cut after ten seconds."""
_OFF = "Past services are not shown here (server.past_services)."
_BUSY = "Many are reading just now. Try again in a moment."


def bearer(request: Request) -> str:
    """Return the token that a request brings in its header, "" if it brings none."""
    scheme, _, token = ",".join(request.headers.get_all("Authorization")).partition(" ")
    # The case of the scheme means nothing (RFC 9110); some programs send the token alone.
    given = token.strip() if scheme.lower() == "bearer" else scheme
    # Headers are ASCII, so pages send the token percent-encoded.
    return unquote(given, errors="surrogateescape")


def challenge(message: str) -> Response:
    """Build the response to a request without a token."""
    return refuse(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": "Bearer"})


class PastRoutes:
    """Answers for one folder of sessions. Belongs to the event loop's thread."""

    def __init__(self, services: Archive | None, readers: Readers, admit: Admit) -> None:
        """Without `services` nothing is shown to anybody."""
        self._admit = admit
        self._services = services
        self.readers: Readers = readers
        # A separate thread, so that no other work can delay it.
        self._thread = ThreadPoolExecutor(1, "past-services")
        self._waiting = 0

    def close(self) -> None:
        """Let the thread end. Waiting requests get no answer."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def answers(request: Request) -> bool:
        """Return whether a request belongs to these routes."""
        path = request.path.partition("?")[0]
        is_ours = path == PREFIX or path.startswith(f"{PREFIX}/")
        return is_ours and request.method in ("GET", "HEAD")

    async def answer(self, request: Request, address: str) -> Response:
        """Answer a GET or HEAD request whose path begins with PREFIX."""
        try:
            if self._services is None or self.readers == "off":
                return refuse(HTTPStatus.NOT_FOUND, _OFF)
            if (refusal := await self._refusal(request, address)) is not None:
                return refusal
            async with asyncio.timeout(_ANSWER_S):
                response = await self._made(self._services, request.path)
        except TimeoutError:
            return refuse(HTTPStatus.SERVICE_UNAVAILABLE, _BUSY, {"Retry-After": "5"})
        except ProtocolError as problem:
            status = _STATUS.get(problem.code, HTTPStatus.FORBIDDEN)
            return refuse(status, problem.message)
        except SessionError as problem:
            status = _STATUS.get(problem.code, HTTPStatus.INTERNAL_SERVER_ERROR)
            return refuse(status, f"{problem.message} {problem.fix}".strip())
        return response

    async def _refusal(self, request: Request, address: str) -> Response | None:
        """Return why a request is not answered; None if it is. Raises ProtocolError."""
        is_dashboard = request.path.partition("?")[0] == _DASHBOARD
        # What everyone may read needs no token: a page may send one that is not valid any more.
        if self.readers == "everyone" and not is_dashboard:
            return None
        if token := bearer(request):
            await self._admit(address, request.headers, token)
            return None
        return challenge("Send the operator's token first.")

    async def _made(self, services: Archive, target: str) -> Response:
        """Return the response for a path and query, made in the thread when it is its turn.

        Raises TimeoutError if too many requests wait already.
        """
        if self._waiting >= _WAITING:
            raise TimeoutError
        # Read on the event loop's thread, where `Hub.configure` changes it.
        for_everyone = self.readers == "everyone"
        make = partial(_make, services, target, for_everyone=for_everyone)
        self._waiting += 1
        try:
            # A timeout ends only the wait: the thread still finishes its response, for nobody.
            return await asyncio.get_running_loop().run_in_executor(self._thread, make)
        finally:
            self._waiting -= 1


def _make(services: Archive, target: str, *, for_everyone: bool) -> Response:
    """Return the list, a service or a file. Raises SessionError."""
    path, _, query = target.partition("?")
    lang = dict(parse_qsl(query)).get("lang", "")
    if path == _DASHBOARD:
        return respond(HTTPStatus.OK, services.dashboard(), _TYPES["html"])
    parts = [unquote(part) for part in path.removeprefix(PREFIX).strip("/").split("/")]
    if for_everyone and parts[0] and services.mode_of(parts[0]) != "live":
        message = "This was no service: a rehearsal or a demonstration."
        raise SessionError("session-missing", message, "Choose another one.")
    match parts:
        case [""]:
            return _list(services, for_everyone=for_everyone)
        case [name]:
            return respond(HTTPStatus.OK, orjson.dumps(services.read(name, lang)), _TYPES["json"])
        case [name, file]:
            which, _, form = file.partition(".")
            made = services.download(name, which, form, lang)
            # The name needs no quoting: `download` leaves only letters, digits and `.+_-` in it.
            disposition = {"Content-Disposition": f'attachment; filename="{made.name}"'}
            return respond(HTTPStatus.OK, made.content, _TYPES[form], disposition)
        case _:
            raise SessionError("session-missing", "There is no such page.", "")


def _list(services: Archive, *, for_everyone: bool) -> Response:
    shown = [each for each in services.listed() if not for_everyone or each.mode == "live"]
    body = orjson.dumps({"services": shown, "formats": list(_TYPES)})
    return respond(HTTPStatus.OK, body, "application/json")
