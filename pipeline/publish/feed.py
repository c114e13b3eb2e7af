"""Boards fed by the church's stream, one a target language, and the displays before them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.stream import ServiceStatus, StreamCaption, is_of
from pipeline.server.hub import Hub

log = structlog.get_logger()

_LEFT = "nothing comes from the church: its uplink, or that of this server, is down"


class Feed:
    """Puts what comes out of the stream on boards, and before displays. On the event loop."""

    def __init__(self, hub: Hub, board: CaptionBoard, history: int) -> None:
        self._hub = hub
        self._boards = {board.target: board}
        """By target language, the first target first."""
        self._history = history
        self._status: ServiceStatus | None = None
        self._early: dict[str, deque[StreamCaption]] = {}
        """Captions of a session whose status is not known yet, by language."""
        self._is_lost = False

    @property
    def boards(self) -> Mapping[str, CaptionBoard]:
        """The boards of the session that displays see, by target language."""
        return self._boards

    @property
    def board(self) -> CaptionBoard:
        """The board of the first target."""
        return next(iter(self._boards.values()))

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
            # The status is published anew every 15 s, and so stands behind captions in the stream.
            self._early.setdefault(item.lang, deque(maxlen=self._history)).append(item)
        else:
            self._on_caption(item)

    def lose(self) -> None:
        """Say on the displays that nothing comes."""
        # After the end nothing comes, and nothing is wrong.
        if self._status and self._status.state not in ("ended", "starting"):
            self._is_lost = True
            self._hub.set_state("fault", _LEFT)

    def _on_status(self, status: ServiceStatus) -> None:
        before = self._status
        if before is None or before.session != status.session:
            self._begin(status)
        self._status = status
        self._hub.set_state(status.state)
        if status.notice != (before.notice if before else {}):
            self._hub.set_notice(NoticeMessage(texts=status.notice))

    def _begin(self, status: ServiceStatus) -> None:
        """Go over to a session, with those of its captions that came before it was known."""
        log.info("session", name=status.session, source=status.source, targets=status.targets)
        self._boards = {
            lang: CaptionBoard(status.session, status.source, lang, self._history)
            for lang in status.targets or (status.source,)
        }
        for lang, board in self._boards.items():
            for early in self._early.get(lang, ()):
                if is_of(early, status.session):
                    board.take(early.message)
        self._early.clear()
        self._hub.adopt(tuple(self._boards.values()), status.mode)

    def _on_caption(self, caption: StreamCaption) -> None:
        board = self._boards.get(caption.lang)
        # No board: the status does not name its language, so no display can ask for it.
        if board is not None and (message := board.take(caption.message)):
            self._hub.publish(message, caption.lang)
