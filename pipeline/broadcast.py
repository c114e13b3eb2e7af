"""The hub: one port for pages and socket, every caption to every display (docs/PROTOCOL.md).

Lives on the event loop's thread and never waits for a display. Messages go straight into each
connection's write buffer; a display that lets too much pile up is cut off and comes back with
`since`. Joining (snapshot and registration) has no await in it, so no caption falls in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import weakref
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from pipeline import config, wire
from pipeline.bundled import bundled
from pipeline.captions import Board, Snapshot
from pipeline.clients import BACKLOG_BYTES, Client, Clients
from pipeline.errors import ProtocolError, ServerError
from pipeline.events import State
from pipeline.incoming import Incoming
from pipeline.metrics import CONTENT_TYPE, Metrics
from pipeline.pages import Pages, refuse, respond
from pipeline.ports import local_address, unbound
from pipeline.subscription import parse_subscription
from pipeline.wire import Command, Message, Mode

_FRAME_BYTES = 64 * 1024  # more than wire.MAX_BYTES, so that most oversized messages get an answer
_SOCKET_BYTES = 64 * 1024  # what the system may buffer for one display
_CLOSE_S = 2.0  # how long displays may take to say goodbye
_DOWN: frozenset[State] = frozenset({"no-audio", "fault", "ended"})


class Hub:
    """Serves displays. All methods belong to the event loop's thread."""

    def __init__(
        self,
        board: Board,
        settings: config.Server,
        *,
        mode: Mode,
        token: str,
        on_command: Callable[[Command], None],
        health: Callable[[], Mapping[str, Any]],
        metrics: Metrics,
        pages: Path | None = None,
    ) -> None:
        """Read the pages. Raises ServerError.

        `on_command` does what an authorized operator asks for or raises ProtocolError. `health`
        gives further fields of /healthz. `pages` is the folder of the pages, by default ours.
        """
        self._board = board
        self._settings = settings
        self._mode: Mode = mode
        self._health = health
        self._metrics = metrics
        self._pages = Pages(pages or bundled("displays"))
        self._state: State = "starting"
        self._reason = ""
        self._clients = Clients(metrics)
        self._incoming = Incoming(
            self._clients,
            metrics,
            token=token,
            on_command=on_command,
            on_operator=self._let_in,
        )
        self._connections: weakref.WeakSet[ServerConnection] = weakref.WeakSet()
        self._server: Server | None = None

    async def start(self) -> None:
        """Bind the port and serve. Raises ServerError.

        Codes: `port-in-use`, `port-forbidden`, `address-unavailable`.
        """
        connections = self._connections

        class Tracked(ServerConnection):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                connections.add(self)
                # The system's own buffer grows to megabytes for a display that never reads.
                its_socket = self.transport.get_extra_info("socket")
                its_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)

        log = logging.getLogger(f"{__name__}.connections")
        log.setLevel(logging.WARNING)  # it tells of every page request otherwise
        try:
            self._server = await serve(
                self._serve,
                self._settings.host,
                self._settings.port,
                process_request=self._answer,
                server_header=None,
                compression=None,  # costs more time than the few bytes of a caption do
                ping_interval=self._settings.ping_s / 2,
                ping_timeout=self._settings.ping_s / 2,
                max_size=_FRAME_BYTES,
                # Never pause: `Clients.send` bounds the bytes; a ping that waits for a full buffer
                # would not time out.
                write_limit=2**30,
                create_connection=Tracked,
                logger=log,
            )
        except OSError as problem:
            raise unbound(self._settings, problem) from problem

    @property
    def port(self) -> int:
        """The port in use, also where the settings say 0."""
        return int(self._bound()[1])

    @property
    def address(self) -> str:
        """The audience page's address; on all interfaces, this machine's in the local network."""
        host = str(self._bound()[0])
        if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
            host = local_address()
        return f"http://[{host}]:{self.port}/" if ":" in host else f"http://{host}:{self.port}/"

    def publish(self, message: Message) -> None:
        """Send a caption that the board has just made."""
        self._incoming.published(message.seq)
        recipients = self._clients.authorized() if self._mode == "dry-run" else self._clients
        self._clients.send(recipients, wire.encode(message))

    def set_state(self, state: State, reason: str = "") -> None:
        """Tell everyone the daemon's state, if it has changed."""
        if (state, reason) == (self._state, self._reason):
            return
        self._state, self._reason = state, reason
        self._metrics.set_state(state)
        self._clients.send(self._clients, wire.status(self._mode, self._board.seq, state, reason))

    def level(self, dbfs: float, clipped: bool) -> None:
        """Tell operators the input level."""
        self._clients.send(self._clients.authorized(), wire.level(dbfs, clipped))

    def utterance(self, record: Mapping[str, Any]) -> None:
        """Give operators the diagnostics record of an utterance."""
        self._clients.send(self._clients.authorized(), wire.utterance(record))

    def compare(self, record: Mapping[str, Any]) -> None:
        """Give operators the record of a second final."""
        self._clients.send(self._clients.authorized(), wire.encode(record))

    async def close(self) -> None:
        """Say goodbye (1001) to everyone, wait a moment, then cut off whoever is left."""
        if self._server is None:
            return
        self._server.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._server.wait_closed()
        except TimeoutError:
            for connection in self._connections:
                connection.transport.abort()
            await self._server.wait_closed()

    # Requests

    def _answer(self, _connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None lets the socket open."""
        if request.method not in ("GET", "HEAD"):
            return refuse(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET.", {"Allow": "GET, HEAD"})
        match request.path.partition("?")[0]:
            case "/ws":
                if len(self._clients) < self._settings.max_clients:
                    return None
                later = {"Retry-After": "10"}
                response = refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many displays.", later)
            case "/healthz":
                status = HTTPStatus.SERVICE_UNAVAILABLE if self._state in _DOWN else HTTPStatus.OK
                response = respond(status, self._healthz(), "application/json")
            case "/metrics":
                body = self._metrics.exposition()
                response = respond(HTTPStatus.OK, body, CONTENT_TYPE)
            case _:
                response = self._pages.answer(request)
        if request.method == "HEAD":
            response.body = b""
        return response

    def _healthz(self) -> bytes:
        return wire.encode(
            {
                "state": self._state,
                "reason": self._reason,
                "mode": self._mode,
                "session": self._board.session,
                "protocol": wire.PROTOCOL,
                "seq": self._board.seq,
                "clients": self._clients.counts(),
                **self._health(),
            }
        )

    # The socket

    async def _serve(self, connection: ServerConnection) -> None:
        """Serve one display until it leaves."""
        request = connection.request
        query = request.path.partition("?")[2] if request else ""
        try:
            wanted = parse_subscription(query, self._board.source, self._board.target)
        except ProtocolError as problem:
            self._metrics.client_errors.labels(problem.code).inc()
            with contextlib.suppress(ConnectionClosed):
                await connection.send(wire.error(problem), text=True)
            await connection.close(1008, problem.code)
            return
        client = Client(connection, wanted.lang, wanted.kind)
        ours = wanted.session in ("", self._board.session)
        self._welcome(client, wanted.since if ours else None)
        self._clients.add(client)
        try:
            with contextlib.suppress(ConnectionClosed):
                async for raw in connection:
                    await self._incoming.take(client, raw)
        finally:
            self._clients.remove(client)

    def _welcome(self, client: Client, since: int | None) -> None:
        """Send `hello`. The caller must not await between this and registering the client."""
        secret = self._mode == "dry-run" and not client.authorized
        snapshot = Snapshot((), resumed=False) if secret else self._board.since(since)
        message = wire.hello(
            session=self._board.session,
            mode=self._mode,
            seq=self._board.seq,
            source=self._board.source,
            target=self._board.target,
            lang=client.lang,
            state=self._state,
            reason=self._reason,
            resumed=snapshot.resumed,
            captions=snapshot.messages,
        )
        client.acked = self._board.seq
        client.backlog = BACKLOG_BYTES + len(message)
        self._clients.send([client], message)

    def _let_in(self, client: Client) -> None:
        """Show a new operator what a dry-run hides from the others."""
        if self._mode == "dry-run":
            self._welcome(client, None)

    def _bound(self) -> tuple[Any, ...]:
        if self._server is None:
            raise ServerError("not-started", "The server has no port before it is started.")
        name: tuple[Any, ...] = next(iter(self._server.sockets)).getsockname()
        return name
