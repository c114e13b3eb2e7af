"""A relay: serves a church's published captions to displays, and has no state of its own.

Its pages and protocol are the daemon's. All its data comes from the stream, so any number of relays
can run behind any load balancer, and a new one can replace a killed one.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections import deque
from contextlib import suppress
from datetime import datetime

import psutil
import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings
from pipeline.core.errors import ProtocolError, PublishError
from pipeline.core.formats import utc_now
from pipeline.core.metrics import Metrics
from pipeline.core.types import State
from pipeline.protocol.commands import CommandMessage
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.broker import Broker, place_of
from pipeline.publish.publisher import SIGN_OF_LIFE_S
from pipeline.publish.stream import ServiceStatus, StreamCaption, is_of, parse_stream
from pipeline.records.health import Dropped, HealthRecord, Queues
from pipeline.server.hub import Hub

_LEFT = "nothing comes from the church: its uplink, or that of this server, is down"


class Feed:
    """Passes the stream's messages to boards and displays. Runs on the event loop."""

    def __init__(self, hub: Hub, board: CaptionBoard, history: int) -> None:
        self._hub = hub
        self.boards = {board.target: board}
        """Of the session that displays see, by target language, the first target first."""
        self._history = history
        self.status: ServiceStatus | None = None
        """The last published status of the service; None before the first."""
        self._early: dict[str, deque[StreamCaption]] = {}
        """Captions of a session whose status is not known yet, by language."""
        self._is_lost = False

    @property
    def state(self) -> State:
        """What displays show: "fault" while nothing comes, whatever the last status was."""
        if self._is_lost:
            return "fault"
        return self.status.state if self.status else "starting"

    @property
    def board(self) -> CaptionBoard:
        """The board of the first target."""
        return next(iter(self.boards.values()))

    def take(self, item: ServiceStatus | StreamCaption) -> None:
        """Process a message of the stream."""
        if self._is_lost and self.status:
            self._is_lost = False
            self._hub.set_state(self.status.state)
        if isinstance(item, ServiceStatus):
            self._on_status(item)
        elif self.status is None or not is_of(item, self.status.session):
            # The status is published again every 15 s, so the stream may have captions before it.
            # As many as a board keeps: it would drop older ones at once.
            self._early.setdefault(item.lang, deque(maxlen=self._history)).append(item)
        else:
            self._on_caption(item)

    def lose(self) -> None:
        """Show on the displays that nothing comes from the church."""
        # After the end of the service that is no fault. Blank displays must stay blank.
        if self.status and self.status.state not in ("ended", "starting", "blank"):
            self._is_lost = True
            self._hub.set_state("fault", _LEFT)

    def _on_status(self, status: ServiceStatus) -> None:
        before = self.status
        self.status = status
        if before is None or before.session != status.session:
            self._begin(status)
            return
        self._hub.set_state(status.state)
        if status.notice != before.notice:
            self._hub.set_notice(NoticeMessage(texts=status.notice))

    def _begin(self, status: ServiceStatus) -> None:
        """Switch to a session, and add its captions that came before its status."""
        log.info("session", name=status.session, source=status.source, targets=status.targets)
        self.boards = {
            lang: CaptionBoard(status.session, status.source, lang, self._history)
            for lang in status.targets or (status.source,)
        }
        for lang, board in self.boards.items():
            for early in self._early.get(lang, ()):
                if is_of(early, status.session):
                    board.take(early.message)
        self._early.clear()
        # In one message: captions sent before the state would be visible on a blank screen.
        self._hub.adopt(
            tuple(self.boards.values()),
            status.mode,
            state=status.state,
            notice=NoticeMessage(texts=status.notice),
        )

    def _on_caption(self, caption: StreamCaption) -> None:
        board = self.boards.get(caption.lang)
        # Without a board the status does not name the language, so no display can ask for it.
        if board is not None and (message := board.take(caption.message)):
            self._hub.publish(message, caption.lang)


log = structlog.get_logger()

SILENT_S = 3 * SIGN_OF_LIFE_S
"""After so long without a sign of life the church's uplink, or this relay's, is down."""
_ACK_EVERY = 20
"""One in so many displays sends acks: reading acks from all would cost more than sending."""
_AGAIN_S = (0.2, 0.5, 1.0, 2.0)


class Relay:
    """Follows a church's stream and serves displays, from `start` to `close`."""

    following: asyncio.Task[None]
    """Ends with `close`; if it raises earlier, that is a bug."""

    def __init__(self, settings: Settings) -> None:
        """Read the pages. Raises ServerError."""
        self._settings = settings
        languages = settings.translate
        board = CaptionBoard("", languages.source, languages.target, settings.server.history)
        self._metrics = Metrics()
        # Nobody operates a relay, so nobody gets this token.
        self._hub = Hub(
            (board,),
            settings.server,
            mode="live",
            token=secrets.token_urlsafe(32),
            metrics=self._metrics,
            # The relay works even if the church's daemon fails, so its /healthz stays 200.
            down=frozenset(),
            ack_every=_ACK_EVERY,
            church=settings.church,
        )
        self.feed = Feed(self._hub, board, settings.server.history)
        self._read = 0
        """The sequence number of the last processed message of the stream."""
        self._created: datetime | None = None
        """When that stream was created."""
        self._heard_s = self._started_s = time.monotonic()
        self._told = ""

    @property
    def address(self) -> str:
        """The audience page's address."""
        return self._hub.address

    async def start(self) -> None:
        """Bind the port, and follow the stream. Raises ServerError."""
        await self._hub.start(on_command=_refuse, health=self._health)
        self.following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Stop following, and disconnect all displays."""
        while not self.following.done():
            self.following.cancel()  # more than once: the NATS client may swallow it
            await asyncio.wait({self.following}, timeout=0.2)
        await self._hub.close()

    async def _follow(self) -> None:
        """Follow the church's stream forever; reconnect after every failure."""
        tries = 0
        while True:
            # Compared below: a connection without any message counts as failed.
            read = self._read
            try:
                await self._follow_once()
            except PublishError as problem:
                self._tell(problem)
            if time.monotonic() - self._heard_s > SILENT_S:
                self.feed.lose()
            # A connection with a message counts as good, however it ended.
            tries = 0 if self._read != read else tries + 1
            wait_s = _AGAIN_S[min(tries, len(_AGAIN_S) - 1)]
            # Random, so that not all relays reconnect to a recovered server at once.
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))  # noqa: S311

    async def _follow_once(self) -> None:
        """Read the stream over one connection until it fails. Raises PublishError."""
        settings = self._settings.publish
        broker = await Broker.connect(settings)
        try:
            state = await broker.state()
            if state.created != self._created or state.newest < self._read:
                self._read = 0  # another stream has replaced it, or it has lost messages
            self._created = state.created
            async for number, subject, data in broker.read(self._read + 1, SILENT_S):
                self._heard()
                with suppress(ProtocolError):  # from a later version or another program
                    item = parse_stream(settings.church, subject, data)
                    if item is not None:
                        self.feed.take(item)
                # After `take`: a message that was read but not processed is read again.
                self._read = number
        finally:
            await broker.close()

    def _heard(self) -> None:
        self._heard_s = time.monotonic()
        if self._told:
            self._told = ""
            log.info("following again", server=place_of(self._settings.publish.nats))

    def _tell(self, problem: PublishError) -> None:
        if problem.code != self._told:
            self._told = problem.code
            log.warning("not following", code=problem.code, message=str(problem))

    def _health(self) -> HealthRecord:
        status = self.feed.status
        return HealthRecord(
            utc=utc_now(),
            state=self.feed.state,
            reason="",
            mode=status.mode if status else "live",
            session=status.session if status else "",
            uptime_s=round(time.monotonic() - self._started_s, 1),
            audio_s=0.0,
            lag_s=round(time.monotonic() - self._heard_s, 2),
            rung="full",
            source=place_of(self._settings.publish.nats),
            recognizer="",
            partial="",
            final="",
            setback=self._told,
            queues=Queues(mailbox=0, drafts=0),
            dropped=Dropped(blocks=0, records=0, partials=0, drafts=0),
            memory_mb=round(psutil.Process().memory_info().rss / 1e6, 1),
        )


def _refuse(command: CommandMessage) -> None:
    """Refuse a command: operators use the church's own server."""
    raise ProtocolError("not-authorized", f"A relay obeys nobody, so not {command.name!r} either.")
