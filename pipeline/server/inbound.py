"""Handle messages from displays: acks, an operator's token, commands; else send an error."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable

import structlog
from websockets.datastructures import Headers

from pipeline.core.errors import ProtocolError, SessionError, quoted
from pipeline.core.metrics import Metrics
from pipeline.protocol.codec import encode, error, parse
from pipeline.protocol.commands import (
    AckMessage,
    AuthMessage,
    CommandMessage,
    InviteMessage,
    PairMessage,
    RevokeMessage,
)
from pipeline.protocol.messages import (
    AuthorizedMessage,
    InvitationMessage,
    PairedMessage,
    VolunteersMessage,
)
from pipeline.server.access import LoginThrottle, TrustedNetworks, is_foreign
from pipeline.server.clients import Client, Clients, DisplayLatency
from pipeline.server.volunteers import CODE_S, PairingCodes, Volunteers

log = structlog.get_logger()

_MAX_ERRORS = 20  # refused messages before a connection is closed, unless it is an operator's
_GOODBYE_S = 0.5  # after this long, a closing connection is cut off
_WRONG_TOKEN_S = 1.0  # how long a wrong token's answer is held back


OnCommand = Callable[[CommandMessage], Awaitable[None] | None]
"""Executes a command, or raises ProtocolError; returns an awaitable if some work is left."""


class Incoming:
    """Handles clients' messages. Belongs to the event loop's thread."""

    on_command: OnCommand
    """To be set before the first message."""

    def __init__(
        self,
        clients: Clients,
        metrics: Metrics,
        *,
        glass: DisplayLatency,
        token: str,
        volunteers: Volunteers,
        address: str,
        on_operator: Callable[[Client], None],
    ) -> None:
        """`on_operator` is called when a client has logged in. With an empty `token` nobody can.

        `address` is the server's address in the settings, "" if there is none.
        """
        self._clients = clients
        self._metrics = metrics
        self._glass = glass
        self._token = token.encode()
        self._volunteers = volunteers
        self._codes = PairingCodes()
        self.address = address
        self._on_operator = on_operator
        self.trusted = TrustedNetworks()
        """The networks of this machine and of operators."""
        self._attempts = LoginThrottle(self.trusted)
        # The event loop holds tasks weakly: a task without another reference may vanish unfinished.
        self._unfinished: set[asyncio.Task[None]] = set()
        self._told = ""
        """The last logged error about a list of volunteers that cannot be read."""

    async def take(self, client: Client, raw: str | bytes) -> bool:
        """Handle a client's message, or answer with an error.

        Return False if the connection was closed for too many messages or too many errors.
        """
        # Before parsing: a flood of messages must cost no more than its bytes.
        if not client.messages.take(time.monotonic()):
            self._metrics.client_errors.labels("too-many-messages").inc()
            await self._dismiss(client, "too-many-messages")
            return False
        try:
            match parse(raw):
                case AckMessage(seq=seq):
                    self._painted(client, seq)
                case AuthMessage(token=token):
                    device = await self.admit(client.address, _headers(client), token)
                    self._let_in(client, device)
                case PairMessage(code=code, name=name):
                    await self._pair(client, code, name)
                case _ if not client.authorized:
                    message = "Send the operator's token first."
                    raise ProtocolError("not-authorized", message)  # noqa: TRY301
                case InviteMessage():
                    code = self._codes.issue(time.monotonic())
                    self._clients.send([client], encode(InvitationMessage(code=code, for_s=CODE_S)))
                case RevokeMessage(name=name):
                    self._revoke(name)
                case command:
                    self._obey(client, command)
        except ProtocolError as problem:
            return await self._refuse(client, problem)
        return True

    async def close(self) -> None:
        """Cancel the operators' commands that are not finished."""
        for task in self._unfinished:
            task.cancel()
        await asyncio.gather(*self._unfinished, return_exceptions=True)

    async def _refuse(self, client: Client, problem: ProtocolError) -> bool:
        """Answer with an error; return False if the connection was closed for too many."""
        client.errors += 1
        self._metrics.client_errors.labels(problem.code).inc()
        self._clients.send([client], error(problem))
        # Refused commands of two operators add up over hours: their desks must stay connected.
        if client.authorized or client.errors < _MAX_ERRORS:
            return True
        await self._dismiss(client, "too-many-errors")
        return False

    async def admit(self, address: str, headers: Headers, token: str) -> str:
        """Check a token; return it if it is that of a device, "" if it is the operator's own.

        Raises ProtocolError (foreign-page, too-many-attempts, not-authorized); a wrong token costs
        a delay. Logins by message and by request header are treated and counted alike.
        """
        # First: the token of a foreign page is not even looked at.
        self._refuse_foreign(headers)
        # A device may have been revoked on the command line since the last check. It must be signed
        # out now: the list then counts as read, so a later check sees no change.
        self.look()
        # In constant time, so that the delay does not reveal how much of a guess was right.
        # A token in a header may not be valid text (`past_routes`): it is wrong, not an error.
        is_master = hmac.compare_digest(token.encode(errors="surrogatepass"), self._token)
        is_right = is_master or bool(self._volunteers.name_of(token))
        if self._attempts.is_refused(token, address, time.monotonic(), is_right=is_right):
            raise _locked()
        if not is_right:
            await self._fail(address)
            raise ProtocolError("not-authorized", "The token is wrong.")
        self._attempts.succeeded(address)
        return "" if is_master else token

    async def _dismiss(self, client: Client, reason: str) -> None:
        """Close a connection (1008) and stop reading from it: it may go on sending."""
        client.connection.transport.pause_reading()
        try:
            async with asyncio.timeout(_GOODBYE_S):
                await client.connection.close(1008, reason)
        except TimeoutError:
            client.connection.transport.abort()

    def _painted(self, client: Client, seq: int) -> None:
        took_s = self._glass.painted(client, seq, time.monotonic())
        if took_s is not None:
            self._metrics.glass.labels(client.kind).observe(took_s)

    async def _pair(self, client: Client, code: str, name: str) -> None:
        """Give a device its own token for a pairing code. Raises ProtocolError."""
        self._refuse_foreign(_headers(client))
        if self._attempts.is_locked(client.address, time.monotonic()):
            raise _locked()
        if not self._codes.take(code, client.address, time.monotonic()):
            await self._fail(client.address)
            raise ProtocolError(
                "wrong-code",
                "This code is wrong, old or used. Ask for a new one: each lets one device in.",
            )
        try:
            token = self._volunteers.add(name)
        except SessionError as error:
            raise ProtocolError(error.code, f"{error.message} {error.fix}") from None
        self._attempts.succeeded(client.address)
        log.info("paired", volunteer=name, address=client.address)
        self._clients.send([client], encode(PairedMessage(name=name, token=token)))
        self._let_in(client, token)
        # `add` has read the list again, and may have dropped its oldest device.
        self._sign_out()

    def _revoke(self, name: str) -> None:
        """Sign all devices of a volunteer out. Raises ProtocolError."""
        # A device revoked on the command line is not in the list, but may still be connected.
        self.look()
        try:
            count = self._volunteers.revoke(name)
        except SessionError as error:
            raise ProtocolError(error.code, f"{error.message} {error.fix}") from None
        if not count:
            raise ProtocolError("unknown-volunteer", f"No device of {quoted(name)} is paired.")
        log.info("revoked", volunteer=name, devices=count)
        self._sign_out()

    def _sign_out(self) -> None:
        """Sign out clients whose device token is no longer valid; send who is left."""
        for client in self._clients.authorized():
            if client.device and not self._volunteers.name_of(client.device):
                client.authorized, client.device = False, ""
                gone = ProtocolError("signed-out", "This device was signed out at the desk.")
                self._clients.send([client], error(gone))
        volunteers = VolunteersMessage(names=self._volunteers.names)
        self._clients.send(self._clients.authorized(), encode(volunteers))

    def look(self) -> None:
        """Check whether a volunteer was revoked on the command line."""
        try:
            is_changed = self._volunteers.refresh()
        except SessionError as error:
            # Connected devices stay signed in: a damaged file must not lock out everybody.
            # Logged once: the hub checks every two seconds, until somebody repairs the file.
            if error.message != self._told:
                log.warning("volunteers", code=error.code, message=error.message)
            self._told = error.message
            return
        self._told = ""
        if is_changed:
            self._sign_out()

    def _refuse_foreign(self, headers: Headers) -> None:
        """Raise ProtocolError for another site's page, which may not even try a token."""
        if is_foreign(headers.get_all("Host"), headers.get_all("Origin"), self.address):
            message = (
                "Open the operator's page by this machine's address in numbers, "
                "or set server.address to the name that it has."
            )
            raise ProtocolError("foreign-page", message)

    async def _fail(self, address: str) -> None:
        self._attempts.failed(address, time.monotonic())
        # Only the guessing client waits: each connection has its own task.
        await asyncio.sleep(_WRONG_TOKEN_S)

    def _let_in(self, client: Client, device: str) -> None:
        client.authorized, client.device = True, device
        self._clients.send([client], encode(AuthorizedMessage()))
        self._on_operator(client)

    def _obey(self, client: Client, command: CommandMessage) -> None:
        if (waiting := self.on_command(command)) is not None:
            # A task, because reading a file takes seconds, while the operator may hide a caption.
            task = asyncio.create_task(self._finish(client, waiting))
            self._unfinished.add(task)
            task.add_done_callback(self._unfinished.discard)

    async def _finish(self, client: Client, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except ProtocolError as problem:
            await self._refuse(client, problem)


def _locked() -> ProtocolError:
    return ProtocolError("too-many-attempts", "Too many wrong tokens; wait a minute.")


def _headers(client: Client) -> Headers:
    request = client.connection.request
    return request.headers if request else Headers()
