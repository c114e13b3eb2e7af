"""Texts that operators have written, or that were left in the spoken language, on their way through
the translators and back.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError
from pipeline.core.reports import Fault, Retranslated
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.workers.queues import Retranslation

Ask = Callable[[Retranslation], None]
Show = Callable[[Caption], None]
"""Shows a translation: the quick one, then the final one."""

_NO_SOUND = np.zeros(0, np.float32)


class Retranslations:
    """Asks for translations of what operators write, and shows them as they come."""

    def __init__(self, board: CaptionBoard, coordinator: CaptionCoordinator, ask: Ask) -> None:
        self._board = board
        self._coordinator = coordinator
        self._ask = ask
        self._tickets = 0
        self._awaited: dict[int, tuple[Show, bool]] = {}

    def of_caption(self, message: CaptionMessage, *, is_speech: bool = False) -> int:
        """Have the source text of a caption translated; return the request's ticket.

        What comes back is shown unless the caption has changed meanwhile. `is_speech`: no operator
        has written it, so that none is told where it cannot be translated.
        """
        seq = message.seq

        def show(made: Caption) -> None:
            nonlocal seq
            try:
                now = self._board.message(message.id)
            except ProtocolError:  # it has left the history
                return
            target = TargetText(made.lang, made.text, made.engine)
            if now.seq == seq and now.target != target:
                revised = self._board.retranslate(message.id, target)
                self._coordinator.publish(revised)
                # The final translation comes behind the quick one, and may replace just that.
                seq = revised.seq

        return self.of_text(message.source, show, message, is_speech=is_speech)

    def of_shown_again(self, message: CaptionMessage | None) -> None:
        """Have a corrected caption translated that was hidden before its translation was there."""
        if message is None or not message.corrected:
            return
        if message.target.engine != "operator" or not message.target.text:
            self.of_caption(message)

    def of_text(
        self,
        source: SourceText,
        show: Show,
        of: CaptionMessage | None = None,
        *,
        is_speech: bool = False,
    ) -> int:
        """Have a text translated; `show` gets what is made of it. Return the request's ticket."""
        self._tickets += 1
        self._awaited[self._tickets] = show, is_speech
        self._ask(Retranslation(self._tickets, _transcript(source, of), is_speech=is_speech))
        return self._tickets

    def awaits(self, ticket: int) -> bool:
        """Whether more may come of a request."""
        return ticket in self._awaited

    def on_retranslated(self, result: Retranslated) -> None:
        """Show a translation that is still wanted."""
        if result.ticket not in self._awaited:
            return
        show, is_speech = self._awaited[result.ticket]
        if result.caption is None or result.caption.final:
            del self._awaited[result.ticket]
        if result.caption is not None:
            show(result.caption)
        if result.caption is not None or is_speech:
            return
        message = "What an operator has written could not be translated."
        self._coordinator.on_fault(Fault("translate", "not-retranslated", message))

    def forget(self) -> None:
        """Show nothing of what is on its way."""
        self._awaited.clear()


def _transcript(source: SourceText, of: CaptionMessage | None) -> Transcript:
    """Return a text as if it had been heard, with the times of the caption that it belongs to."""
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
