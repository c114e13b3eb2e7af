"""A board fed by the church's stream, and the displays before it."""

from __future__ import annotations

from collections import deque

import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.stream import ServiceStatus, StreamCaption, is_of
from pipeline.server.hub import Hub

log = structlog.get_logger()

_LEFT = "nothing comes from the church: its uplink, or that of this server, is down"


class Feed:
    """Puts what comes out of the stream on a board, and before displays. On the event loop."""

    def __init__(self, hub: Hub, board: CaptionBoard, history: int) -> None:
        self._hub = hub
        self._board = board
        self._history = history
        self._status: ServiceStatus | None = None
        self._early: deque[StreamCaption] = deque(maxlen=history)
        """Captions of a session whose status is not known yet."""
        self._is_lost = False

    @property
    def board(self) -> CaptionBoard:
        """The board of the session that displays see."""
        return self._board

    @property
    def status(self) -> ServiceStatus | None:
        """What was last published of the service; None before anything was."""
        return self._status

    def take(self, item: ServiceStatus | StreamCaption) -> None:
        """Take what has come."""
        if self._is_lost and self._status:
            self._is_lost = False
            self._hub.set_state(self._status.state)
        if isinstance(item, ServiceStatus):
            self._on_status(item)
        elif self._status is None or not is_of(item, self._status.session):
            self._early.append(item)
        else:
            self._on_caption(item)

    def lose(self) -> None:
        """Say on the displays that nothing comes."""
        if self._status and self._status.state not in ("ended", "starting"):
            self._is_lost = True
            self._hub.set_state("fault", _LEFT)

    def _on_status(self, status: ServiceStatus) -> None:
        before = self._status
        if before is None or before.session != status.session:
            self._begin(status)
        self._status = status
        self._hub.set_state(status.state)
        if before is None or before.notice != status.notice:
            self._hub.set_notice(NoticeMessage(texts=status.notice))

    def _begin(self, status: ServiceStatus) -> None:
        """Go over to a session, with those of its captions that came before it was known."""
        log.info("session", name=status.session, source=status.source, targets=status.targets)
        target = status.targets[0] if status.targets else status.source
        self._board = CaptionBoard(status.session, status.source, target, self._history)
        for early in self._early:
            if self._is_shown(early) and is_of(early, status.session):
                self._board.take(early.message)
        self._early.clear()
        self._hub.adopt(self._board, status.mode)

    def _on_caption(self, caption: StreamCaption) -> None:
        if self._is_shown(caption) and (message := self._board.take(caption.message)):
            self._hub.publish(message)

    def _is_shown(self, caption: StreamCaption) -> bool:
        return caption.lang == self._board.target
