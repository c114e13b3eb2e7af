"""What displays send: acks, an operator's token, commands. Anything else gets an error back."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable

from pipeline import wire
from pipeline.attempts import Attempts
from pipeline.clients import Client, Clients
from pipeline.errors import ProtocolError
from pipeline.metrics import Metrics
from pipeline.wire import Ack, Auth, Command

_MAX_ERRORS = 20  # refused messages before a connection is closed
_WRONG_TOKEN_S = 1.0  # how long a wrong token's answer is held back
_TIMED = 4096  # captions whose time of publishing is remembered for acks


class Incoming:
    """Does what clients ask for. Belongs to the event loop's thread."""

    def __init__(
        self,
        clients: Clients,
        metrics: Metrics,
        *,
        token: str,
        on_command: Callable[[Command], None],
        on_operator: Callable[[Client], None],
    ) -> None:
        """Take what is called when a client may command, and when an operator does.

        `on_command` may raise ProtocolError to refuse. An empty `token` lets nobody command.
        """
        self._clients = clients
        self._metrics = metrics
        self._token = token.encode()
        self._on_command = on_command
        self._on_operator = on_operator
        self._attempts = Attempts()
        self._published: dict[int, float] = {}  # seq -> when, monotonic seconds; oldest first

    def published(self, seq: int) -> None:
        """Note that a caption is on its way to displays, for the acks to come."""
        self._published[seq] = time.monotonic()
        if len(self._published) > _TIMED:
            del self._published[next(iter(self._published))]

    async def take(self, client: Client, raw: str | bytes) -> None:
        """Do what a client's message says, or tell it why not; too many errors end it."""
        try:
            match wire.parse(raw):
                case Ack(seq):
                    self._painted(client, seq)
                case Auth(token):
                    await self._authorize(client, token)
                case Command() as command:
                    self._obey(client, command)
        except ProtocolError as problem:
            client.errors += 1
            self._metrics.client_errors.labels(problem.code).inc()
            self._clients.send([client], wire.error(problem))
            if client.errors >= _MAX_ERRORS:
                await client.connection.close(1008, "too many errors")

    def _painted(self, client: Client, seq: int) -> None:
        published_s = self._published.get(seq)
        if seq > client.acked and published_s is not None:
            client.acked = seq
            self._metrics.glass.labels(client.kind).observe(time.monotonic() - published_s)

    async def _authorize(self, client: Client, token: str) -> None:
        """Make an operator of a client. Raises ProtocolError, for a wrong token after a delay."""
        peer = client.connection.remote_address
        address = str(peer[0]) if peer else ""
        if self._attempts.locked(address, time.monotonic()):
            raise ProtocolError("too-many-attempts", "Too many wrong tokens; wait a minute.")
        if not hmac.compare_digest(token.encode(), self._token):
            self._attempts.failed(address, time.monotonic())
            await asyncio.sleep(_WRONG_TOKEN_S)
            raise ProtocolError("not-authorized", "The token is wrong.")
        self._attempts.succeeded(address)
        client.authorized = True
        self._clients.send([client], wire.authorized())
        self._on_operator(client)

    def _obey(self, client: Client, command: Command) -> None:
        if not client.authorized:
            raise ProtocolError("not-authorized", "Send the operator's token first.")
        self._on_command(command)
