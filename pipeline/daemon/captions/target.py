"""The captions of one target language: its board, its workers and operators' changes.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from pipeline.core.errors import ProtocolError
from pipeline.core.types import Caption, Transcript
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.captions.retranslations import LateTranslations, Retranslations
from pipeline.daemon.context.context import DaemonContext, Target
from pipeline.dictionary.matcher import applied
from pipeline.dictionary.rules import Rule
from pipeline.protocol.caption import CaptionMessage
from pipeline.workers.target import TargetWorkers

Back = Callable[[], None]
"""Undoes something. Raises ProtocolError if that is no longer possible."""


def together(backs: Sequence[Back]) -> Back:
    """Return a function that calls all undo functions; only the first one's error is raised."""

    def back() -> None:
        for each in reversed(backs[1:]):
            with suppress(ProtocolError):  # the caption has left that board
                each()
        backs[0]()

    return back


class TargetCaptions:
    """One target language."""

    def __init__(
        self, context: DaemonContext, target: Target, workers: TargetWorkers, *, may_rest: bool
    ) -> None:
        """`may_rest`: the language is not translated while nobody watches."""
        self.lang, self.board, self.workers = target.lang, target.board, workers
        self.coordinator = CaptionCoordinator(context, target)
        self.retranslations = Retranslations(target.board, self.coordinator, workers.retranslate)
        self.late = LateTranslations(target.board, self.retranslations)
        self.may_rest = may_rest
        self.watchers = 0
        self.watched_s = float("-inf")
        """When somebody watched last (monotonic)."""
        self._hidden: dict[int, Caption | None] = {}
        """Ids that an operator has hidden, with the caption that came since if not on the board."""
        self._corrected: dict[int, str] = {}
        """The corrected source text by caption id: it replaces results for the earlier text."""
        self._rules: dict[int, list[Rule]] = {}
        """Rules by the id of a caption in progress: its final may have been recognized before."""
        self._came: dict[int, CaptionMessage] = {}
        """Captions that came after their correction, before it was applied: for the undo."""
        workers.rest(may_rest)  # nobody watches yet

    def show(self, caption: Caption) -> Caption | None:
        """Publish a caption unless it is hidden; apply the operator's correction to it.

        Returns the final caption that has settled with it.
        """
        # A caption that is already on the board stays hidden by itself.
        if caption.id in self._hidden and self.board.find(caption.id) is None:
            known = self._hidden[caption.id]
            # A late partial does not replace a final that has come.
            if caption.final or known is None or not known.final:
                self._hidden[caption.id] = caption
            return None
        text = self._corrected.get(caption.id, caption.transcript.text)
        used = {fix.rule for fix in caption.transcript.corrections}
        for rule in self._rules.get(caption.id, ()):
            text = text if rule.id in used else applied(rule, text)
        # An earlier correction must not show a hidden caption again.
        is_hidden = caption.id in self._hidden
        if is_hidden or not caption.final or caption.transcript.text == text:
            return self.coordinator.show(caption)

        def correct() -> None:
            if (came := self.board.find(caption.id)) is not None:
                # Only its first version: later versions are corrected already.
                self._came.setdefault(caption.id, came)
            self._correct(caption.id, text)

        return self.coordinator.show(caption, correct)

    def fill(self, transcript: Transcript) -> None:
        """Request a translation of a settled transcript, unless its final exists or is held."""
        key = transcript.utterance.id
        if not (key in self.coordinator.doubts or self.board.has_final(key)):
            self.workers.transcripts.fill(transcript)

    def hide(self, caption_id: int) -> Back | None:
        """Hide a caption; return a function that shows it again, None if it is already hidden."""
        # Also for a caption that is still in progress: it must not appear later.
        self._hidden.setdefault(caption_id)
        with self.coordinator.deciding(caption_id):
            old = self.board.find(caption_id)
            new = self.board.hide(caption_id) if old is not None else None
            self.coordinator.publish(new)

        def back() -> None:
            if old is None:
                self.unhide(caption_id)
            else:
                self._hidden.pop(caption_id, None)
                self._show_again(self.board.put_back(old))

        return None if old is not None and new is None else back

    def unhide(self, caption_id: int) -> bool:
        """Show a hidden caption, or its newer version, again; return whether it was hidden.

        Raises ProtocolError (unknown-caption): never in this language, or hidden before a restart.
        """
        came = self._hidden.pop(caption_id, None)
        if came is not None and self.board.find(caption_id) is None:
            self.show(came)
            return True
        again = self.board.unhide(caption_id)
        self._show_again(again)
        return again is not None

    def _show_again(self, message: CaptionMessage | None) -> None:
        self.coordinator.publish(message)
        self.retranslations.of_shown_again(message)

    def correct(self, caption_id: int, text: str, said: str | None = None) -> Back:
        """Correct the source text, and request a new translation; return an undo function.

        A hidden caption is shown again, here as in the first language. `said` is the earlier text
        of a settled caption, which may be filled in with `text` before the undo or after it.
        """
        before = self._corrected.get(caption_id, said)
        # Also if the caption is not on screen yet: `show` corrects it when it comes.
        self._corrected[caption_id] = text
        was_hidden, hidden = caption_id in self._hidden, self._hidden.pop(caption_id, None)
        with self.coordinator.deciding(caption_id):
            old = self.board.find(caption_id)
            if old is None and hidden is not None:
                self.show(hidden)
            self._correct(caption_id, text)

        def back() -> None:
            self._corrected.pop(caption_id, None)
            if before is not None:
                self._corrected[caption_id] = before
            earlier = old or self._came.get(caption_id)
            if old is None and was_hidden:
                if earlier is not None:  # only on the board: nobody may see it, but `unhide` can
                    self.board.put_back(earlier)
                self.hide(caption_id)
                return
            self.put_back(earlier)
            if was_hidden:
                self._hidden.setdefault(caption_id)
            if old is None and before is not None:
                # It came after the correction, or after both: now the earlier text applies.
                self._correct(caption_id, before)

        return back

    def put_right_later(self, caption_id: int, rule: Rule) -> Back:
        """Correct a caption in progress by a rule when its final comes; return an undo function."""
        rules = self._rules.setdefault(caption_id, [])
        rules.append(rule)

        def back() -> None:
            rules.remove(rule)
            self.put_back(self._came.pop(caption_id, None))

        return back

    def edit(self, caption_id: int, text: str) -> Back | None:
        """Replace the translation by an operator's text; return an undo function, None: no change.

        Raises ProtocolError (unknown-caption).
        """
        with self.coordinator.deciding(caption_id):
            old = self.board.message(caption_id)
            new = self.board.edit(caption_id, text)
            self.coordinator.publish(new)
        return None if new is None else lambda: self.put_back(old)

    def approve(self, caption_id: int) -> Back | None:
        """Remove the mark of a doubtful caption; return an undo function, None: it has no mark."""
        with self.coordinator.deciding(caption_id):
            old = self.board.find(caption_id)
            if old is None or not old.doubtful:
                return None
            self.coordinator.publish(self.board.approve(caption_id))
        return lambda: self.put_back(old)

    def say(self, caption_id: int, at_s: float, text: str, lang: str) -> Back:
        """Show a typed caption that nobody has spoken; return an undo function."""
        message = self.board.add_typed(caption_id, at_s, text, lang)
        self.coordinator.publish(message)
        # `add_typed` sets `corrected` for a typed text in the spoken language.
        if message.corrected:
            self.retranslations.of_caption(message)
        return lambda: self.coordinator.publish(self.board.hide(caption_id))

    def forget(self, ids: set[int]) -> None:
        """Forget operators' texts for these captions, which are off the record."""
        self.retranslations.forget()
        for caption_id in ids:
            for known in (self._corrected, self._hidden, self._rules, self._came):
                known.pop(caption_id, None)

    def _correct(self, caption_id: int, text: str) -> None:
        if self.board.find(caption_id) is None:
            return  # it is in progress, or was never requested
        new = self.board.correct(caption_id, text)
        if new is not None:
            self.coordinator.publish(new)
            self.retranslations.of_caption(new)

    def put_back(self, old: CaptionMessage | None) -> None:
        """Show an earlier version again. Raises ProtocolError."""
        if old is not None:
            again = self.board.put_back(old)
            self.coordinator.publish(again)
            if not again.final:  # that version was waiting for a translation
                self.retranslations.of_shown_again(again)
