"""Texts that operators show: corrections, typed captions, notices. Each can be undone.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from pipeline.captions.board import stands
from pipeline.captions.sink import Sink
from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.formats import utc_now
from pipeline.core.types import Caption
from pipeline.daemon.captions.retranslations import Retranslations
from pipeline.daemon.captions.target import Back, TargetCaptions, together
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.desk.undo import Undo
from pipeline.protocol.caption import SourceText
from pipeline.records.events import NoticeEvent
from pipeline.session.recorder import SessionRecorder


class Notices:
    """Holds the current notice, and records every notice."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        recorder: SessionRecorder,
        retranslations: Sequence[Retranslations],
        source: str,
    ) -> None:
        """`retranslations`: one for each target language; `source` is the spoken language."""
        self._sinks = sinks
        self._recorder = recorder
        self._retranslations = retranslations
        self._source = source
        self._since_s = 0.0
        self.texts: dict[str, str] = {}
        """The notice that is shown, by language; empty if none is."""

    def put(self, text: str, lang: str, at_s: float) -> None:
        """Show a notice; a notice in the spoken language is also translated.

        `at_s`: its position in the session's audio.
        """
        self.show({lang: text}, at_s)
        if lang != self._source:
            return
        shown = self.texts

        def translated(made: Caption) -> None:
            nonlocal shown
            # By identity: a later notice may have the same text.
            if self.texts is shown:
                shown = {**shown, made.lang: made.text}
                self.show(shown, at_s)

        for each in self._retranslations:
            # Each finished translation is added to those that are already shown.
            each.of_text(SourceText(lang, text), translated)

    def show(self, texts: dict[str, str], at_s: float) -> None:
        """Show a notice without translating it; an empty one removes the notice."""
        self._tell(texts, at_s)
        self._recorder.record(NoticeEvent(utc=utc_now(), at_s=round(at_s, 3), texts=texts))

    def forget(self, from_s: float) -> None:
        """Remove a notice that was shown since `from_s` of the audio: it is off the record."""
        if self.texts and self._since_s >= from_s:
            # Recorded, because the purge deletes the notice's line: an earlier one would return.
            self.show({}, from_s)

    def restore(self, event: NoticeEvent) -> None:
        """Show the notice of the session that is continued."""
        self._tell(event.texts, event.at_s)

    def _tell(self, texts: dict[str, str], at_s: float) -> None:
        # Replaced, never changed: `translated` and undo compare notices by identity.
        self.texts, self._since_s = texts, at_s
        for sink in self._sinks:
            sink.on_notice(texts)


_NOTICE = -1
"""The notice's id among the caption ids of undo steps."""


class Speech(Protocol):
    """The current speech."""

    @property
    def heard_s(self) -> float:
        """Its position in the session's audio, seconds."""

    def settle(self) -> None:
        """Start a new caption for later speech, because a final was changed."""

    def take_id(self) -> int:
        """Return the id of a typed caption."""


class WrittenTexts:
    """Shows operators' texts on the boards and on every screen."""

    def __init__(
        self, context: DaemonContext, targets: Targets, speech: Speech, undo: Undo
    ) -> None:
        self._facts = context.facts
        self._targets = targets
        self._board = targets[0].board
        """The first target's board: a caption that it lacks cannot be changed in any language."""
        self._verses = context.targets[0].verses
        self._speech = speech
        self._undo = undo
        self.notices = Notices(
            context.sinks,
            context.recorder,
            [each.retranslations for each in targets],
            self._board.source,
        )

    def _done(self, did: str, key: int, back: Back) -> None:
        """Note a change of a caption, and how to undo it."""
        self._speech.settle()  # else later speech would join a caption that no longer changes
        self._undo.push(f"{did} of caption {key}", back, key)

    def correct(self, key: int, text: str) -> None:
        """Correct a caption's source text and translate it again. Raises ProtocolError."""
        old = self._board.message(key)
        if not (stands(old) and old.source.text == text):
            self._done("correction", key, self._targets.correct(key, text))

    def edit(self, key: int, text: str, lang: str) -> None:
        """Show an operator's own translation; without `lang`, in the first target language.

        Raises ProtocolError.
        """
        if back := self._target(lang).edit(key, text):
            self._done("edit", key, back)

    def require_caption(self, key: int, lang: str) -> None:
        """Raise ProtocolError if a language has no such caption to edit."""
        target = self._target(lang)
        if key not in target.coordinator.doubts:  # a held caption need not be on the board
            target.board.message(key)

    def hide(self, key: int) -> None:
        """Remove a caption from every screen, in every language. Raises ProtocolError."""
        # This raises if the first target's board lacks the caption: then nothing changes.
        self._board.message(key)
        first, *extra = [each.hide(key) for each in self._targets]
        if first is not None:
            self._done("hiding", key, together([first, *filter(None, extra)]))

    def unhide(self, key: int) -> None:
        """Show a hidden caption again, in every language. Raises ProtocolError."""
        self._board.message(key)
        first, *extra = self._targets
        is_changed = first.unhide(key)
        for each in extra:
            with suppress(ProtocolError):
                each.unhide(key)

        def back() -> None:
            # This raises before anything is hidden: the caption may have left the history.
            self._board.message(key)
            for each in self._targets:
                each.hide(key)

        if is_changed:
            self._done("bringing back", key, back)

    def settle(self, key: int) -> None:
        """Keep later speech out of a caption that an operator changes or will change."""
        # Speech only continues the newest caption. Settling another would cut the current one.
        if key >= self._board.last_id:
            self._speech.settle()

    def approve(self, key: int) -> None:
        """Remove the mark of a doubtful caption, in every language. Raises ProtocolError."""
        is_first = self._board.message(key).doubtful
        backs = [back for each in self._targets if (back := each.approve(key))]
        if not backs:
            raise ProtocolError("not-doubtful", f"Caption {key} is not marked as doubtful.")
        if is_first:
            self._speech.settle()
        self._undo.push(f"approval of caption {key}", together(backs), key)

    def put_right(self, key: int, text: str) -> Back:
        """Correct a caption by a rule; return how to undo it."""
        # This is no undo step: the rule's own step restores all of its captions at once.
        self.settle(key)
        return self._targets.correct(key, text)

    def take_verse(self, key: int) -> None:
        """Show the suggested verse with its caption. Raises ProtocolError."""
        old = self._board.message(key)  # first: an error must not use up the suggestion
        first = self._targets[0]
        first.coordinator.publish(self._board.put_verse(key, self._verses.take(key)))
        self._done("verse", key, lambda: first.put_back(old))

    def say(self, text: str, lang: str) -> int:
        """Show a caption that nobody has spoken; return its id. Raises ProtocolError."""
        self._require_screens(lang)
        # Later speech is a new caption, after the typed one.
        self._speech.settle()
        # Ids follow the reading order: later speech never has a lower id.
        key, at_s = self._speech.take_id(), self._speech.heard_s
        # A text in the spoken language is translated into all target languages.
        shown = [each for each in self._targets if lang in (self._board.source, each.lang)]
        backs = [each.say(key, at_s, text, lang) for each in shown]
        self._undo.push(f"typed caption {key}", together(backs), key)
        return key

    def put_notice(self, text: str, lang: str) -> None:
        """Show a notice until the next one, or until it is removed. Raises ProtocolError."""
        self._require_screens(lang)
        self._change_notice(lambda: self.notices.put(text, lang, self._speech.heard_s))

    def clear_notice(self) -> None:
        """Remove the notice."""
        self._change_notice(lambda: self.notices.show({}, self._speech.heard_s))

    def forget(self, ids: set[int], from_s: float) -> None:
        """Forget these captions, and texts that were written since `from_s` of the audio."""
        self.notices.forget(from_s)
        # All undo steps of notices: undoing one could show words that are off the record.
        self._undo.forget_captions(ids | {_NOTICE})

    def _change_notice(self, change: Callable[[], None]) -> None:
        before = self.notices.texts

        def back() -> None:
            at_s = self._speech.heard_s
            # Its translations may have come after the change.
            if before.keys() == {self._board.source}:
                self.notices.put(before[self._board.source], self._board.source, at_s)
            else:
                self.notices.show(before, at_s)

        change()
        if self.notices.texts != before:
            self._undo.push("notice", back, _NOTICE)

    def _target(self, lang: str) -> TargetCaptions:
        if lang not in ("", self._board.source, *self._targets.langs):
            raise ProtocolError("unknown-lang", f"{quoted(lang)} is not translated into.")
        return self._targets.of(lang)

    def _require_screens(self, lang: str) -> None:
        """Raise ProtocolError if nothing can be shown in this language."""
        langs = (self._board.source, *self._targets.langs)
        if lang not in langs:
            message = f"{quoted(lang)} is not shown: {', '.join(langs)} are."
            raise ProtocolError("unknown-lang", message)
        if self._facts.off_record:
            raise ProtocolError("off-record", "Go back on the record first: nothing is shown now.")
