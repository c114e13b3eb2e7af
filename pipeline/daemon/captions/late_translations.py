"""Finals that were left in the spoken language, translated as soon as there is time.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from pipeline.captions.board import CaptionBoard
from pipeline.daemon.captions.retranslations import Retranslations

_TRIES = 2
"""A text that no translator can do anything with is left as it is. It may have ended one."""

_AGAIN_S = 5.0
"""After a failure no text is tried for so long."""

_WAIT_S = 60.0
"""A translator that hangs must not keep the others waiting for ever."""


@dataclass(frozen=True, slots=True)
class _Request:
    caption_id: int
    ticket: int
    asked_s: float


class LateTranslations:
    """Those of one target language.

    There is no list of what is owed: the board has it, after a restart of the program as well. So
    nothing is translated that an operator has hidden, edited or taken off the record.
    """

    def __init__(self, board: CaptionBoard, retranslations: Retranslations) -> None:
        self._board = board
        self._retranslations = retranslations
        self._request: _Request | None = None
        self._tries: dict[int, int] = {}
        self._next_s = 0.0

    def look(self, now_s: float, *, has_time: bool) -> None:
        """Ask for the next translation, if one is owed and the last one asked for has come.

        The newest comes first: it is what most readers still have on their screens.
        """
        owed = {message.id: message for message in self._board.untranslated()}
        self._tries = {key: tries for key, tries in self._tries.items() if key in owed}
        if self._request is not None and self._is_done(self._request, owed.keys(), now_s):
            self._request = None
        if self._request is not None or not has_time or now_s < self._next_s:
            return
        # Those that have failed come last.
        keys = sorted(owed, key=lambda key: (self._tries.get(key, 0), -key))
        if keys and self._tries.get(keys[0], 0) < _TRIES:
            self._tries[keys[0]] = self._tries.get(keys[0], 0) + 1
            ticket = self._retranslations.of_caption(owed[keys[0]], is_speech=True)
            self._request = _Request(keys[0], ticket, now_s)

    def _is_done(self, request: _Request, owed: Container[int], now_s: float) -> bool:
        """Whether a request was answered, or is not worth waiting for."""
        # The quick translator's answer is enough: the final one may be at work for long.
        if request.caption_id not in owed:
            return True
        if self._retranslations.awaits(request.ticket) and now_s - request.asked_s < _WAIT_S:
            return False
        self._next_s = now_s + _AGAIN_S
        return True
