"""One further target language: its board, its workers, what operators have done to its captions.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError
from pipeline.core.types import Caption, Transcript
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.captions.late_translations import LateTranslations
from pipeline.daemon.captions.retranslations import Retranslations
from pipeline.engines.process.sharing import LanguageTranslator
from pipeline.protocol.caption import CaptionMessage
from pipeline.workers.target import TargetWorkers

Back = Callable[[], None]
"""Takes something back."""


@dataclass(slots=True)
class Language:
    """One further language."""

    lang: str
    board: CaptionBoard
    coordinator: CaptionCoordinator
    workers: TargetWorkers
    retranslations: Retranslations
    late: LateTranslations
    translator: LanguageTranslator | None
    """Its turn at a shared final translator, which is to know how many watch."""
    may_rest: bool
    hidden: dict[int, Caption | None] = field(default_factory=dict)
    """Captions that an operator has hidden, and what has come of those that had none on screen."""
    corrected: dict[int, str] = field(default_factory=dict)
    """What was really said, by caption: what comes of the earlier text is not left standing."""
    watchers: int = 0
    watched_s: float = float("-inf")
    """When somebody watched last (monotonic)."""

    def knows(self, caption_id: int) -> bool:
        """Whether a final of a caption is there, on its board or kept back for an operator."""
        if self.coordinator.holds(caption_id):
            return True
        message = self._message(caption_id)
        return message is not None and message.final

    def show(self, caption: Caption) -> None:
        """Publish a caption as it should be: not if it is hidden, and of what was really said."""
        # What is on the board already stays hidden by itself.
        if caption.id in self.hidden and self._message(caption.id) is None:
            known = self.hidden[caption.id]
            if caption.final or known is None or not known.final:
                self.hidden[caption.id] = caption
            return
        self.coordinator.show(caption)
        # A correction from before it was hidden would bring it back.
        text = None if caption.id in self.hidden else self.corrected.get(caption.id)
        if text is not None and caption.final and caption.transcript.text != text:
            with self.coordinator.deciding(caption.id):
                self._correct(caption.id, text)

    def fill(self, transcript: Transcript) -> None:
        """Have a settled transcript translated, unless its caption is there."""
        if not self.knows(transcript.utterance.id):
            self.workers.transcripts.fill(transcript)

    def hide(self, caption_id: int) -> Back:
        """Hide a caption; return what shows it again."""
        # Also of one that is still on its way: it is not to appear later.
        self.hidden.setdefault(caption_id)
        with self.coordinator.deciding(caption_id):
            old = self._message(caption_id)
            if old is not None:
                self.coordinator.publish(self.board.hide(caption_id))
        return lambda: self.unhide(caption_id)

    def unhide(self, caption_id: int) -> None:
        """Show a hidden caption again, or what has come of it meanwhile."""
        came = self.hidden.pop(caption_id, None)
        if self._message(caption_id) is not None:
            with suppress(ProtocolError):  # it was never in this language, or before a restart
                again = self.board.unhide(caption_id)
                self.coordinator.publish(again)
                self.retranslations.of_shown_again(again)
        elif came is not None:
            self.show(came)

    def correct(self, caption_id: int, text: str) -> Back:
        """Replace what was said, and have it translated again; return what takes it back."""
        before = self.corrected.get(caption_id)
        self.corrected[caption_id] = text
        with self.coordinator.deciding(caption_id):
            old = self._message(caption_id)
            self._correct(caption_id, text)

        def back() -> None:
            self.corrected.pop(caption_id, None)
            if before is not None:
                self.corrected[caption_id] = before
            self._put_back(old)

        return back

    def edit(self, caption_id: int, text: str) -> Back | None:
        """Replace the translation by an operator's; return what takes it back, None: no change.

        Raises ProtocolError (unknown-caption).
        """
        with self.coordinator.deciding(caption_id):
            old = self.board.message(caption_id)
            new = self.board.edit(caption_id, text)
            self.coordinator.publish(new)
        return None if new is None else lambda: self._put_back(old)

    def approve(self, caption_id: int) -> Back | None:
        """Take the mark of a doubtful caption away; return what puts it back, None: it has none."""
        with self.coordinator.deciding(caption_id):
            old = self._message(caption_id)
            if old is None or not old.doubtful:
                return None
            self.coordinator.publish(self.board.approve(caption_id))
        return lambda: self._put_back(old)

    def say(self, caption_id: int, at_s: float, text: str, lang: str) -> Back:
        """Show a caption that nobody has spoken; return what takes it back."""
        message = self.board.add_typed(caption_id, at_s, text, lang)
        self.coordinator.publish(message)
        # So a typed text is marked that is in the spoken language (`add_typed`).
        if message.corrected:
            self.retranslations.of_caption(message)
        return lambda: self.coordinator.publish(self.board.hide(caption_id))

    def forget(self, ids: set[int]) -> None:
        """Know nothing of what operators have written: it is off the record."""
        self.retranslations.forget()
        for caption_id in ids:
            self.corrected.pop(caption_id, None)
            self.hidden.pop(caption_id, None)

    def _correct(self, caption_id: int, text: str) -> None:
        if self._message(caption_id) is None:
            return  # it is on its way, or was never asked for
        new = self.board.correct(caption_id, text)
        if new is not None:
            self.coordinator.publish(new)
            self.retranslations.of_caption(new)

    def _put_back(self, old: CaptionMessage | None) -> None:
        if old is not None:
            self.coordinator.publish(self.board.put_back(old))

    def _message(self, caption_id: int) -> CaptionMessage | None:
        try:
            return self.board.message(caption_id)
        except ProtocolError:
            return None
