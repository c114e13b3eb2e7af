"""The listening port: its sockets, and limits that keep one connection from harming the others."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.protocol import State

from pipeline.config import schema
from pipeline.core.errors import ServerError
from pipeline.server.addresses import answer_plain, unbound
from pipeline.server.listening import Doors, Listener, listeners
from pipeline.server.pages import SECURITY
from pipeline.server.rate_limits import ConnectionLimiter
from pipeline.server.streams.event_stream import EventStream
from pipeline.server.tls import Certificate

_FRAME_BYTES = 64 * 1024  # more than wire.MAX_BYTES, so that most oversized messages get an answer
_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux only
_OPEN_S = 10.0  # how long a request may take to arrive
_CLOSE_S = 2.0  # how long displays may take to say goodbye
_RENEW_S = 30.0  # between two checks of the certificate's files
_TELL_S = 60.0  # between two lines in the log while nobody can join
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# Until the next Sunday: a church that returns to http must not be locked out for a year.
_STRICT = {"Strict-Transport-Security": f"max-age={8 * 24 * 3600}"}

log = structlog.get_logger()

_REQUESTS_OPEN = 500  # connections for pages, in addition to those of displays
_KEPT = 64  # further ones for this machine and for operators
SPARE = 128
"""Descriptors kept for models, records, the sound device and everything else that is opened."""


def allow(connections: int) -> int:
    """Raise this process's limit for `connections`; return how many it can have.

    The soft limit is usually 1024; a process may raise it up to the hard limit.
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows, where sockets have no such limit
    except ImportError:
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    # If the hard limit is hardly more than the reserve, connections get half of it.
    return min(connections, max(soft - SPARE, soft // 2))


def take_limits(limiter: ConnectionLimiter, settings: schema.Server) -> None:
    """Set the limits to the connections that the settings allow and this machine can have."""
    most = allow(settings.max_clients + _REQUESTS_OPEN + _KEPT)
    limiter.kept = min(_KEPT, most // 4)  # if descriptors are few, others need some as well
    limiter.most = most - limiter.kept
    limiter.per_address = settings.max_per_address
    if limiter.most < settings.max_clients:
        log.warning("few displays", code="descriptors-few", most=limiter.most)


class Timers:
    """Calls functions at their periods, on the event loop, until `stop`."""

    def __init__(self) -> None:
        self._next: dict[Callable[[], object], asyncio.TimerHandle] = {}

    def every(self, period_s: float, act: Callable[[], object]) -> None:
        """Call a function at this period from now on. Its exceptions are logged."""

        def again() -> None:
            # First, so that an exception of `act` does not end the series.
            self.every(period_s, act)
            act()

        # Keyed by the function: the new timer replaces the one that has just run.
        self._next[act] = asyncio.get_running_loop().call_later(period_s, again)

    def stop(self) -> None:
        """Stop all calls."""
        for timer in self._next.values():
            timer.cancel()


class Transport:
    """Listens for displays and pages. Belongs to the event loop's thread."""

    def __init__(
        self,
        settings: schema.Server,
        limiter: ConnectionLimiter,
        *,
        handler: Callable[[ServerConnection], Awaitable[None]],
        answer: Callable[[ServerConnection, Request], Response | Awaitable[Response] | None],
    ) -> None:
        """`answer` answers a request, or returns None for a socket, which `handler` serves.

        The time limit for a request that is slow to arrive also covers what is awaited here.
        """
        self._settings = settings
        self.address = settings.address
        """The address of the settings. If the port speaks https, plain http is led there."""
        self._doors = Doors(limiter)
        self._handler = handler
        self._answer = answer
        self._connections: set[ServerConnection] = set()
        self._certificate: Certificate | None = None
        self._servers: list[Server] = []  # one for each address of the host
        self._timers = Timers()

    async def open(self) -> None:
        """Bind the port and serve. Raises ServerError (see `unbound` and `Certificate`)."""
        settings = self._settings
        options: dict[str, Any] = {}
        if settings.tls_cert:
            self._certificate = Certificate(settings)
            self._certificate.tell()
            self._doors.answer_plain = self._lead
            options = {"ssl": self._certificate.context, "ssl_handshake_timeout": _OPEN_S}
            self._timers.every(_RENEW_S, self._certificate.renew)
        # asyncio reports connections that it could not accept to this handler only.
        asyncio.get_running_loop().set_exception_handler(_Troubles())
        try:
            for each in await listeners(settings.host, settings.port, self._doors):
                self._servers.append(await self._serve(each, options))
        except OSError as problem:
            raise unbound(settings, problem) from problem

    async def _serve(self, listener: Listener, options: dict[str, Any]) -> Server:
        quiet = logging.getLogger(f"{__name__}.connections")
        quiet.setLevel(logging.WARNING)  # otherwise it logs every page request
        return await serve(
            self._handler,
            sock=listener,
            process_request=self._ask,
            server_header=None,
            compression=None,  # compressing takes longer than sending the few bytes of a caption
            open_timeout=_OPEN_S,
            close_timeout=_CLOSE_S,
            ping_interval=self._settings.ping_s / 2,
            ping_timeout=self._settings.ping_s / 2,
            max_size=_FRAME_BYTES,
            # Never pause: `Clients.send` bounds the bytes; a ping that waits for a full buffer
            # would not time out.
            write_limit=2**30,
            create_connection=self._kind(),
            logger=quiet,
            **options,
        )

    def _lead(self, request: bytes) -> bytes:
        is_public = self._certificate is None or self._certificate.facts.is_public
        return answer_plain(request, self.address, is_public=is_public)

    def _ask(
        self, connection: ServerConnection, request: Request
    ) -> Response | Awaitable[Response] | None:
        self._doors.heard(connection.remote_address)
        return self._answer(connection, request)

    @property
    def bound(self) -> tuple[Any, ...]:
        """The address and the port in use."""
        if not self._servers:
            raise ServerError("not-started", "The server has no port before it is started.")
        name: tuple[Any, ...] = next(iter(self._servers[0].sockets)).getsockname()
        return name

    async def close(self) -> None:
        """Say goodbye (1001) to everyone, wait a moment, then cut off the remaining connections."""
        self._timers.stop()
        # asyncio loses a connection that it has accepted just before its server is closed.
        self._doors.are_open = False
        await asyncio.sleep(0.01)
        for server in self._servers:
            server.close()
        closed = asyncio.gather(*(server.wait_closed() for server in self._servers))
        try:
            async with asyncio.timeout(_CLOSE_S):
                # Shielded: the timeout must not end the closing itself, which is awaited below.
                await asyncio.shield(closed)
        except TimeoutError:
            for connection in tuple(self._connections):
                connection.transport.abort()
            await closed

    def _kind(self) -> type[ServerConnection]:
        """Return the class of connections, which needs this transport's headers."""
        connections = self._connections
        gone_s = self._settings.ping_s
        headers = SECURITY | (_STRICT if self._certificate else {})

        # One class per transport: `serve` creates connections and passes no values of ours.
        class Connection(ServerConnection):
            """A connection whose responses, also the library's own, all have our headers."""

            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                send = self.protocol.send_response

                def send_with_headers(response: Response) -> None:
                    if self.protocol.eof_sent:  # it closed, or sent invalid data, meanwhile
                        log.debug("gone before its answer", address=address_of(self))
                        return  # the library would write an assertion's traceback into the log
                    if self.request is not None and self.request.method == "HEAD":
                        # The headers stay: Content-Length is what GET would send.
                        response.body = b""
                    for name, value in headers.items():
                        if response.status_code != 101 and name not in response.headers:
                            response.headers[name] = value
                    if isinstance(response, EventStream):
                        self._begin_stream(response)
                    else:
                        send(response)

                # The library also sends its own refusals this way: only here can they get headers.
                self.protocol.send_response = send_with_headers  # type: ignore[method-assign]

            def _begin_stream(self, head: EventStream) -> None:
                """Send the head and set the state to open: the library serves it like a socket."""
                self.protocol.writes.append(head.serialize())
                self.protocol.state = State.OPEN
                self.ping_interval = None  # a ping would be a frame
                if _USER_TIMEOUT is not None:
                    # In place of pongs: the other machine's TCP acknowledges each alive message.
                    peer = self.transport.get_extra_info("socket")
                    peer.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, int(gone_s * 1000))

            def data_received(self, data: bytes) -> None:
                if not isinstance(self.response, EventStream):  # a stream expects no data
                    super().data_received(data)

            async def close(self, code: CloseCode | int = 1000, reason: str = "") -> None:
                if isinstance(self.response, EventStream):  # a goodbye would be a frame
                    self.transport.close()
                    await self.wait_closed()
                else:
                    await super().close(code, reason)

            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                connections.add(self)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.discard(self)
                super().connection_lost(exc)

        return Connection


def address_of(connection: ServerConnection) -> str:
    """Return a connection's remote address; behind a reverse proxy that is the proxy's."""
    peer = connection.remote_address
    return str(peer[0]) if peer else ""


class _Troubles:
    """The event loop's handler of uncaught exceptions."""

    def __init__(self) -> None:
        self._told_s = float("-inf")

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        accepting = "accept" in context["message"]
        if not (accepting and isinstance(problem, OSError) and problem.errno in _EXHAUSTED):
            loop.default_exception_handler(context)
            return
        # Without descriptors the loop reports this a hundred times a second: log it once a minute.
        if time.monotonic() - self._told_s >= _TELL_S:
            self._told_s = time.monotonic()
            reason = problem.strerror or str(problem)
            log.error("nobody can join", code="descriptors-exhausted", reason=reason)
