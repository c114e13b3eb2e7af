"""Requests to translate operators' texts, and captions that were left untranslated.

Belongs to the event loop's thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from dataclasses import dataclass

import numpy as np

from pipeline.captions.board import CaptionBoard
from pipeline.core.reports import Fault, Retranslated
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.workers.queues import Retranslation

Ask = Callable[[Retranslation], None]
Show = Callable[[Caption], None]
"""Shows a translation: the quick one, then the final one."""

_NO_SOUND = np.zeros(0, np.float32)

_WAIT_S = 20.0
"""After this wait for its final translation, a caption becomes final with its current text."""


@dataclass(slots=True)
class _Asked:
    """A text that is being translated."""

    show: Show
    is_speech: bool
    of: CaptionMessage | None
    """The newest version of its caption that this request made; None for a notice."""
    since_s: float
    """Monotonic."""


class Retranslations:
    """Requests translations of operators' texts, and shows the results as they come.

    A caption becomes final only after its translation passes the same gate as finals of speech
    (`TargetWorkers.tell`), or if no translation comes.
    """

    def __init__(self, board: CaptionBoard, coordinator: CaptionCoordinator, ask: Ask) -> None:
        self._board = board
        self._coordinator = coordinator
        self._ask = ask
        self._tickets = 0
        self._awaited: dict[int, _Asked] = {}

    def of_caption(self, message: CaptionMessage, *, is_speech: bool = False) -> int:
        """Request a translation of a caption's source text; return the request's ticket.

        The result is shown unless the caption has changed meanwhile. `is_speech`: the text is not
        an operator's, so operators get no message if it cannot be translated.
        """

        def show(made: Caption) -> None:
            # `asked` is created below, before any result can come.
            now, target = self._now(asked), TargetText(made.lang, made.text, made.engine)
            # Untranslated speech is already final in the spoken language, and stays final.
            final = made.final or is_speech
            marked = self._coordinator.doubts.is_marked(made)
            if now is not None and (now.target, now.final, now.doubtful) != (target, final, marked):
                # The final translation comes after the quick one, and may replace only that one.
                asked.of = self._board.retranslate(message.id, target, final=final, marked=marked)
                self._coordinator.publish(asked.of)

        asked = _Asked(show, is_speech, message, time.monotonic())
        return self._translate(message.source, asked)

    def of_shown_again(self, message: CaptionMessage | None) -> None:
        """Request the translation of a corrected caption that changed before it was translated."""
        if message is None or not message.corrected:
            return
        if message.target.engine != "operator" or not message.target.text:
            self.of_caption(message)

    def of_text(self, source: SourceText, show: Show) -> int:
        """Request a translation, which goes to `show`; return the request's ticket."""
        return self._translate(source, _Asked(show, False, None, time.monotonic()))

    def awaits(self, ticket: int) -> bool:
        """Whether a request may still have results."""
        return ticket in self._awaited

    def on_retranslated(self, result: Retranslated) -> None:
        """Show a translation that is still wanted."""
        asked = self._awaited.get(result.ticket)
        # The request went off the record meanwhile (`forget`).
        if asked is None:
            return
        is_last = result.caption is None or result.caption.final
        if is_last:
            del self._awaited[result.ticket]
        if result.caption is not None:
            asked.show(result.caption)
        if is_last:
            self._conclude(asked)
        if result.caption is not None or asked.is_speech:
            return
        message = "What an operator has written could not be translated."
        self._coordinator.on_fault(Fault("translate", "not-retranslated", message))

    def look(self, now_s: float) -> None:
        """Make captions final that have waited too long; a later result replaces their text."""
        for asked in self._awaited.values():
            if now_s - asked.since_s > _WAIT_S:
                self._conclude(asked)

    def forget(self) -> None:
        """Drop all open requests: their captions become final as they are."""
        for asked in self._awaited.values():
            self._conclude(asked)
        # The workers may still answer; these tickets are then unknown.
        self._awaited.clear()

    def _translate(self, source: SourceText, asked: _Asked) -> int:
        self._tickets += 1
        self._awaited[self._tickets] = asked
        transcript = _transcript(source, asked.of)
        self._ask(Retranslation(self._tickets, transcript, is_speech=asked.is_speech))
        return self._tickets

    def _now(self, asked: _Asked) -> CaptionMessage | None:
        """Return the caption of a request; None if it has changed, or has left the history."""
        of = asked.of
        if of is None or (now := self._board.find(of.id)) is None:
            return None
        # An approval or a printed verse changes no text, so the translation is still wanted.
        is_same = (now.source, now.target, now.final) == (of.source, of.target, of.final)
        return now if is_same else None

    def _conclude(self, asked: _Asked) -> None:
        """Make the caption of a request final as it is, unless its source text has changed."""
        now = asked.of and self._board.find(asked.of.id)
        # A newer text has its own request, which concludes it.
        if asked.of is None or now is None or now.source != asked.of.source:
            return
        is_same = self._now(asked) is not None
        # The current translation is for other words, or has not been judged.
        done = self._board.conclude(asked.of.id, marked=self._coordinator.doubts.marks_doubt)
        if done is not None and is_same:
            asked.of = done
        self._coordinator.publish(done)


def _transcript(source: SourceText, of: CaptionMessage | None) -> Transcript:
    """Return a text as a transcript, with the times of its caption."""
    utterance = Utterance(
        id=of.id if of else 0,
        revision=1,
        final=True,
        cause="end",
        start_sample=round(of.start_s * SAMPLE_RATE) if of else 0,
        end_sample=round(of.end_s * SAMPLE_RATE) if of else 0,
        pcm=_NO_SOUND,
    )
    return Transcript(utterance, source.lang, source.text, source.text, Recognition(source.text))


_TRIES = 2
"""Tries for each text. A text that cannot be translated stays; it may crash a translator."""

_AGAIN_S = 5.0
"""The pause after a failure before the next text is tried."""

_ANSWER_S = 60.0
"""The longest wait for an answer: a translator that hangs must not block other texts for ever."""


@dataclass(frozen=True, slots=True)
class _Request:
    caption_id: int
    ticket: int
    asked_s: float


class LateTranslations:
    """Requests translations of captions that were left untranslated, in one target language.

    It has no list of them: the board knows them, even after a restart of the program. So a caption
    that an operator has hidden, edited or taken off the record is not translated.
    """

    def __init__(self, board: CaptionBoard, retranslations: Retranslations) -> None:
        self._board = board
        self._retranslations = retranslations
        self._request: _Request | None = None
        self._tries: dict[int, int] = {}
        self._next_s = 0.0

    def look(self, now_s: float, *, has_time: bool) -> None:
        """Request the next translation, if one is missing and the last request is done.

        The newest caption comes first: most readers still have it on their screens.
        """
        owed = {message.id: message for message in self._board.untranslated()}
        # Count tries only for captions that are still untranslated: a service may last all day.
        self._tries = {key: tries for key, tries in self._tries.items() if key in owed}
        if self._request is not None and self._is_done(self._request, owed.keys(), now_s):
            self._request = None
        # One at a time, so that the translators are free for current speech.
        if self._request is not None or not has_time or now_s < self._next_s:
            return
        # Captions that have failed come last.
        keys = sorted(owed, key=lambda key: (self._tries.get(key, 0), -key))
        if keys and self._tries.get(keys[0], 0) < _TRIES:
            self._tries[keys[0]] = self._tries.get(keys[0], 0) + 1
            ticket = self._retranslations.of_caption(owed[keys[0]], is_speech=True)
            self._request = _Request(keys[0], ticket, now_s)

    def _is_done(self, request: _Request, owed: Container[int], now_s: float) -> bool:
        """Whether a request was answered, or is not worth waiting for."""
        # The quick translator's answer is enough: the final translator may take long.
        if request.caption_id not in owed:
            return True
        if self._retranslations.awaits(request.ticket) and now_s - request.asked_s < _ANSWER_S:
            return False
        self._next_s = now_s + _AGAIN_S
        return True
