"""The hub: one port for pages and sockets, every caption to every display (docs/PROTOCOL.md).

It runs on the event loop's thread and never waits for a display. Messages go directly into each
connection's write buffer; a display whose buffer fills up is cut off and reconnects with `since`.
Joining (snapshot, then registration) contains no await, so no caption is missed in between.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields, replace
from http import HTTPStatus
from typing import Any

import structlog
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from pipeline.captions.board import CaptionBoard
from pipeline.config import schema
from pipeline.core.errors import ProtocolError
from pipeline.core.metrics import Metrics
from pipeline.core.types import Mode, State
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import encode, error
from pipeline.protocol.messages import (
    PROTOCOL,
    AliveMessage,
    ConsoleMessage,
    EarlierMessage,
    HelloMessage,
    NoticeMessage,
    Outgoing,
    StatusMessage,
)
from pipeline.protocol.past_services import Archive
from pipeline.records.health import HealthRecord
from pipeline.server.addresses import page_address
from pipeline.server.boards import Boards, Subscription
from pipeline.server.buttons import Buttons, Sound
from pipeline.server.clients import Client, Clients, DisplayLatency
from pipeline.server.inbound import Incoming, OnCommand
from pipeline.server.operator_feed import OperatorFeed
from pipeline.server.pages import refuse, shipped_pages
from pipeline.server.past_routes import PastRoutes
from pipeline.server.rate_limits import REFUSED, ConnectionLimiter
from pipeline.server.routes import DOWN, Endpoints
from pipeline.server.streams.event_stream import EventStream, EventWriter
from pipeline.server.streams.live_subtitles import LiveSubtitles
from pipeline.server.streams.voice_streams import SoundStream, VoiceStreams
from pipeline.server.transport import Timers, Transport, address_of, take_limits
from pipeline.server.volunteers import Volunteers

log = structlog.get_logger()

KEPT = 16
"""Extra displays for this machine and for operators' addresses when the hall is full."""
_HEALTH_S = 2.0
# Pages treat 25 s without a message as a broken line (displays/js/shared/connection.js).
_ALIVE_S = 10.0


class Hub:
    """Serves displays. All methods belong to the event loop's thread."""

    _health: Callable[[], HealthRecord]
    _console: Callable[[], ConsoleMessage]

    def __init__(
        self,
        boards: Sequence[CaptionBoard],
        settings: schema.Server,
        *,
        mode: Mode,
        token: str,
        metrics: Metrics,
        volunteers: Volunteers | None = None,
        down: frozenset[State] = DOWN,
        ack_every: int = 1,
        past: Archive | None = None,
        church: schema.Church | None = None,
        subtitles: LiveSubtitles | None = None,
        voices: VoiceStreams | None = None,
    ) -> None:
        """Read the pages. Raises ServerError.

        `boards` has one board per target language, the first target's first. In the states in
        `down`, /healthz reports that this server is of no use. One of `ack_every` displays is asked
        to report what it has painted. The pages show name, logo and colour of `church`. Without
        `past`, past services cannot be read or downloaded; without `subtitles`, there are none for
        streams; without `voices`, nothing can be heard.
        """
        self._boards = Boards(boards)
        self._settings = settings
        self._mode: Mode = mode
        self._metrics = metrics
        self._voices = voices or VoiceStreams((), 0)
        self._endpoints = Endpoints(
            shipped_pages(church or schema.Church()),
            metrics=metrics,
            health=self._healthz,
            address=lambda: self.audience_address,
            boards=lambda: self._boards,
            past=lambda: self._past.readers == "everyone",
            down=down,
            subtitles=subtitles,
            voices=self._voices,
        )
        self._state: State = "starting"
        self._reason = ""
        self._notice = NoticeMessage()
        self._clients = Clients(metrics)
        self._welcomed, self._ack_every = 0, ack_every
        self._glass = DisplayLatency()
        self.operators = OperatorFeed(self._clients, self._glass)
        self._volunteers = volunteers or Volunteers(None)
        self._incoming = Incoming(
            self._clients,
            metrics,
            glass=self._glass,
            token=token,
            volunteers=self._volunteers,
            address=settings.address,
            on_operator=self._let_in,
        )
        self._past = PastRoutes(past, settings.past_services, self._incoming.admit)
        self._buttons = Buttons(self._incoming.admit)
        self._limiter = ConnectionLimiter(
            settings.max_clients, settings.max_per_address, self._incoming.trusted
        )
        self._port = Transport(settings, self._limiter, handler=self._serve, answer=self._answer)
        self._timers = Timers()

    async def start(
        self,
        *,
        on_command: OnCommand,
        health: Callable[[], HealthRecord],
        console: Callable[[], ConsoleMessage] = ConsoleMessage,
        sound: Sound = lambda caption_id, lang: b"",  # noqa: ARG005
    ) -> None:
        """Bind the port and serve. Raises ServerError.

        `on_command` does what an authorized operator asks for, or raises ProtocolError. `health`
        gives what /healthz and operators get. `console` fills in the fields of that message that
        the hub does not know. `sound` gives the audio of a doubtful caption. They are passed here
        and not to the constructor, because the parts behind them publish through this hub.

        Codes: `port-in-use`, `port-forbidden`, `address-unavailable`, and those of `Certificate`.
        """
        self._health, self._console = health, console
        self._incoming.on_command = self._buttons.obey = on_command
        self._buttons.console, self._buttons.sound = console, sound
        take_limits(self._limiter, self._settings)
        await self._port.open()
        self._timers.every(_HEALTH_S, self._tell_health)
        self._timers.every(_ALIVE_S, lambda: self._tell(lambda seq: AliveMessage(seq=seq)))

    @property
    def port(self) -> int:
        """The port in use, also if the settings say 0."""
        return int(self._port.bound[1])

    @property
    def address(self) -> str:
        """The audience page's address; for all interfaces, this machine's local address."""
        host = str(self._port.bound[0])
        return page_address(host, self.port, secure=bool(self._settings.tls_cert))

    @property
    def audience_address(self) -> str:
        """The address that phones should use: that of the settings, else this machine's."""
        return self._settings.address or self.address

    def configure(self, settings: schema.Server) -> None:
        """Apply new settings; the bound host and port stay."""
        self._settings = settings
        self._incoming.address = self._port.address = settings.address
        self._past.readers = settings.past_services
        take_limits(self._limiter, self._settings)

    def publish(self, message: CaptionMessage, lang: str) -> None:
        """Send a caption that the board of a target language has just made."""
        self._glass.published(message.seq, time.monotonic(), lang)
        recipients = self._clients.of(lang)
        if self._mode == "dry-run":  # the audience is told to stand by, and gets no captions
            recipients = [client for client in recipients if client.authorized]
        self._clients.send(recipients, encode(message))

    def watchers(self) -> Counter[str]:
        """Count the displays and listeners by language."""
        return self._clients.watchers() + self._voices.watchers()

    def set_state(self, state: State, reason: str = "") -> None:
        """Send the daemon's state to everyone, if it has changed."""
        if (state, reason) == (self._state, self._reason):
            return
        self._state, self._reason = state, reason
        self._metrics.set_state(state)
        mode = self._mode
        self._tell(lambda seq: StatusMessage(mode=mode, seq=seq, state=state, reason=reason))

    def set_notice(self, notice: NoticeMessage) -> None:
        """Send the current notice; in a dry-run to operators only."""
        self._notice = notice
        recipients = self._clients.authorized() if self._mode == "dry-run" else self._clients
        self._clients.send(recipients, encode(notice))

    def adopt(
        self,
        boards: Sequence[CaptionBoard],
        mode: Mode,
        *,
        state: State,
        notice: NoticeMessage,
    ) -> None:
        """Serve another session from now on; every display gets all of it.

        A display gets the language that it asked for when it connected, if this session has it.
        """
        self._boards, self._mode = Boards(boards), mode
        self._glass.forget()
        # Before `hello`, which contains both: the previous session's values must not be in it.
        self._state, self._reason, self._notice = state, "", notice
        self._metrics.set_state(state)
        for client in self._clients:
            wanted = self._boards.subscription(client.connection.request, is_strict=False)
            client.lang, client.board = wanted.lang, self._boards.target_of(wanted.lang)
            # A seq of the previous session would skip captions of this one.
            self._welcome(client, replace(wanted, since=None))

    async def close(self) -> None:
        """Say goodbye (1001) to everyone, wait a moment, then cut off the remaining connections."""
        self._timers.stop()
        # Commands before connections: a command that ends later would answer a closed page.
        await self._incoming.close()
        await self._port.close()
        # Last: while the port is open, a request may need the thread.
        self._past.close()

    # Requests

    def _answer(
        self, connection: ServerConnection, request: Request
    ) -> Response | Awaitable[Response] | None:
        address = address_of(connection)
        refusal = self._limiter.refusal(address, time.monotonic())
        if refusal:
            self._metrics.refused.labels(refusal).inc()
            return refuse(HTTPStatus.TOO_MANY_REQUESTS, REFUSED[refusal], {"Retry-After": "10"})
        # Before the check for a full hall: a button must work then as well.
        if self._past.answers(request):
            return self._past.answer(request, address)
        if self._buttons.answers(request):
            return self._buttons.answer(request, address)
        kept = KEPT if address in self._incoming.trusted else 0
        full = len(self._clients) >= self._settings.max_clients + kept
        return self._endpoints.answer(request, full=full)

    def _healthz(self) -> dict[str, Any]:
        health = self._health()
        ours = ("type", "utc", "state", "reason", "mode")  # here, the values sent to displays apply
        known = (each for each in fields(health) if each.name not in ours)
        return {
            "state": self._state,
            "reason": self._reason,
            "mode": self._mode,
            "session": self._boards.session,
            "protocol": PROTOCOL,
            "seq": self._boards.first.seq,
            "clients": self._clients.counts(),
            **{each.name: getattr(health, each.name) for each in known},
        }

    # Periodic tasks

    def _tell_health(self) -> None:
        self._incoming.look()
        # It sorts the times of all displays: only if an operator reads them.
        if self._clients.authorized():
            seqs = {lang: board.seq for lang, board in self._boards.by_lang.items()}
            self.operators.health(self._health(), seqs, self._voices.watchers())

    def _tell(self, message: Callable[[int], Outgoing]) -> None:
        """Send everyone a message with the newest seq of their board."""
        for lang, board in self._boards.by_lang.items():
            self._clients.send(self._clients.of(lang), encode(message(board.seq)))

    # The socket

    async def _serve(self, connection: ServerConnection) -> None:
        """Serve one display (socket or event stream) or one listener until it leaves."""
        if isinstance(connection.response, SoundStream):
            await self._voices.serve(connection, connection.response)
            return
        events = EventWriter() if isinstance(connection.response, EventStream) else None
        try:
            # The query of a stream was checked before it was opened: an error cannot be sent now.
            wanted = self._boards.subscription(connection.request, is_strict=events is None)
        except ProtocolError as problem:
            self._metrics.client_errors.labels(problem.code).inc()
            with contextlib.suppress(ConnectionClosed):
                await connection.send(error(problem), text=True)
            await connection.close(1008, problem.code)
            return
        board = self._boards.target_of(wanted.lang)
        client = Client(connection, wanted.lang, wanted.kind, board, events)
        self._welcome(client, wanted)
        self._clients.add(client)
        try:
            with contextlib.suppress(ConnectionClosed):
                async for raw in connection:
                    if not await self._incoming.take(client, raw):
                        break
        finally:
            self._clients.remove(client)

    def _welcome(self, client: Client, wanted: Subscription) -> None:
        """Send `hello`. The caller must not await between this and registering the client."""
        board = self._boards.by_lang[client.board]
        secret = self._mode == "dry-run" and not client.authorized
        history = self._boards.history(wanted, is_secret=secret)
        hello = encode(
            HelloMessage(
                session=board.session,
                mode=self._mode,
                seq=board.seq,
                source=board.source,
                targets=self._boards.targets,
                lang=client.lang,
                state=self._state,
                reason=self._reason,
                resumed=history.resumed,
                captions=history.captions,
                notice=NoticeMessage() if secret else self._notice,
                acks=client.events is None and self._welcomed % self._ack_every == 0,
            )
        )
        self._welcomed += 1
        has_more = history.earlier is not None
        earlier = encode(EarlierMessage(captions=history.earlier or ())) if has_more else b""
        client.acked = board.seq
        # A long history does not mean that a display is slow.
        client.backlog += len(hello) + len(earlier)
        for message in filter(None, (hello, earlier)):
            self._clients.send([client], message)

    def _let_in(self, client: Client) -> None:
        """Bring a new operator up to date, also with what a dry-run hides from the others."""
        console = replace(
            self._console(), address=self.audience_address, volunteers=self._volunteers.names
        )
        self.operators.welcome(client, console)
        if self._mode == "dry-run":
            self._welcome(client, Subscription(client.lang, client.kind))
