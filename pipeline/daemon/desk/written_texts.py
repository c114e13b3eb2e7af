"""What operators write on the screens: corrections, typed captions, notices; each can be undone.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from pipeline.captions.board import stands
from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.formats import utc_now
from pipeline.core.types import Caption
from pipeline.daemon.captions.retranslations import Retranslations
from pipeline.daemon.captions.target import Back, TargetCaptions, together
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.context.sinks import Sink
from pipeline.daemon.desk.undo import Undo
from pipeline.protocol.caption import SourceText
from pipeline.protocol.commands import VerseCommand
from pipeline.records.events import NoticeEvent
from pipeline.session.recorder import SessionRecorder


class Notices:
    """Holds the notice, and records each."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        recorder: SessionRecorder,
        retranslations: Sequence[Retranslations],
        source: str,
    ) -> None:
        """`retranslations`: those of each target language; `source` is the spoken one."""
        self._sinks = sinks
        self._recorder = recorder
        self._retranslations = retranslations
        self._source = source
        self._since_s = 0.0
        self.texts: dict[str, str] = {}
        """The one that stands, by language; empty: none does."""

    def put(self, text: str, lang: str, at_s: float) -> None:
        """Show a notice; one in the spoken language is translated.

        `at_s`: where in the session's audio it is.
        """
        self.show({lang: text}, at_s)
        if lang != self._source:
            return
        shown = self.texts

        def translated(made: Caption) -> None:
            nonlocal shown
            # By identity: a later notice may say the very same.
            if self.texts is shown:
                shown = {**shown, made.lang: made.text}
                self.show(shown, at_s)

        for each in self._retranslations:
            # Each language that comes is added to those that are shown already.
            each.of_text(SourceText(lang, text), translated)

    def show(self, texts: dict[str, str], at_s: float) -> None:
        """Show a notice as it is; one without texts takes it away."""
        self._tell(texts, at_s)
        self._recorder.record(NoticeEvent(utc=utc_now(), at_s=round(at_s, 3), texts=texts))

    def forget(self, from_s: float) -> None:
        """Take away one that was put up since `from_s` of the audio: that is off the record."""
        if self.texts and self._since_s >= from_s:
            # Recorded: the purge takes its own line out, and then one of before would stand again.
            self.show({}, from_s)

    def restore(self, event: NoticeEvent) -> None:
        """Show the one of the session that goes on."""
        self._tell(event.texts, event.at_s)

    def _tell(self, texts: dict[str, str], at_s: float) -> None:
        # Replaced whole and never changed: `translated` and an undo know a notice by its identity.
        self.texts, self._since_s = texts, at_s
        for sink in self._sinks:
            sink.on_notice(texts)


_NOTICE = -1
"""Stands for the notice among the ids of captions whose steps can be undone."""


class Speech(Protocol):
    """What is said meanwhile."""

    @property
    def heard_s(self) -> float:
        """Where in the session's audio it is, seconds."""

    def settle(self) -> None:
        """Let what is said from now on be a caption of its own: a final was changed."""

    def take_id(self) -> int:
        """Return the id of a caption that is typed."""


class WrittenTexts:
    """Puts on the boards and on every screen what operators write."""

    def __init__(
        self, context: DaemonContext, targets: Targets, speech: Speech, undo: Undo
    ) -> None:
        self._facts = context.facts
        self._targets = targets
        self._board = targets[0].board
        """That of the first target: what is not on it cannot be changed in any language."""
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
        """Note what was done to a caption, and how it is taken back."""
        self._speech.settle()  # else what follows would be in a caption that stays as it is
        self._undo.push(f"{did} of caption {key}", back, key)

    def correct(self, key: int, text: str) -> None:
        """Show what was really said, and have it translated. Raises ProtocolError."""
        old = self._board.message(key)
        if not (stands(old) and old.source.text == text):
            self._done("correction", key, self._targets.correct(key, text))

    def edit(self, key: int, text: str, lang: str) -> None:
        """Show an operator's own translation; without a language the first target's.

        Raises ProtocolError.
        """
        if back := self._target(lang).edit(key, text):
            self._done("edit", key, back)

    def require_caption(self, key: int, lang: str) -> None:
        """Raise ProtocolError where a language has no such caption to edit."""
        target = self._target(lang)
        if not target.coordinator.holds(key):  # one that is kept back need not be on the board
            target.board.message(key)

    def hide(self, key: int) -> None:
        """Take a caption off every screen, in every language. Raises ProtocolError."""
        # For its refusal: what the first target's board does not have is not touched anywhere.
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
            # Refused before anything is hidden: it may have left the history.
            self._board.message(key)
            for each in self._targets:
                each.hide(key)

        if is_changed:
            self._done("bringing back", key, back)

    def settle(self, key: int) -> None:
        """Let what is said next not go on with a caption that an operator changes, or will."""
        # Speech returns to the newest one only; to settle another would cut what is being said.
        if key >= self._board.last_id:
            self._speech.settle()

    def approve(self, key: int) -> None:
        """Take the mark of a doubtful caption away, in every language. Raises ProtocolError."""
        is_first = self._board.message(key).doubtful
        backs = [back for each in self._targets if (back := each.approve(key))]
        if not backs:
            raise ProtocolError("not-doubtful", f"Caption {key} is not marked as doubtful.")
        if is_first:
            self._speech.settle()
        self._undo.push(f"approval of caption {key}", together(backs), key)

    def put_right(self, key: int, text: str) -> Back:
        """Correct a caption by a rule; return what takes that back."""
        # No step of its own to undo: the rule's takes all of its captions back at once.
        self.settle(key)
        return self._targets.correct(key, text)

    def settle_verse(self, command: VerseCommand) -> None:
        """Show the suggested verse with its caption, or leave it alone. Raises ProtocolError."""
        if command.name == "dismiss-verse":
            self._verses.dismiss(command.id)
            return
        old = self._board.message(command.id)  # first: a refusal must not use the suggestion up
        publish = self._targets[0].coordinator.publish
        publish(self._board.put_verse(old.id, self._verses.take(old.id)))
        self._done("verse", old.id, lambda: publish(self._board.put_back(old)))

    def say(self, text: str, lang: str) -> int:
        """Show a caption that nobody has spoken; return its id. Raises ProtocolError."""
        self._require_screens(lang)
        # What is said from now on is a caption of its own, behind the typed one.
        self._speech.settle()
        # Ids are in the order of what people read: nothing that is said later has a lower one.
        key, at_s = self._speech.take_id(), self._speech.heard_s
        # What is written in the spoken language is translated into all of them.
        shown = [each for each in self._targets if lang in (self._board.source, each.lang)]
        backs = [each.say(key, at_s, text, lang) for each in shown]
        self._undo.push(f"typed caption {key}", together(backs), key)
        return key

    def put_notice(self, text: str, lang: str) -> None:
        """Show a notice until the next one, or until it is taken away. Raises ProtocolError."""
        self._require_screens(lang)
        self._change_notice(lambda: self.notices.put(text, lang, self._speech.heard_s))

    def clear_notice(self) -> None:
        """Take the notice away."""
        self._change_notice(lambda: self.notices.show({}, self._speech.heard_s))

    def forget(self, ids: set[int], from_s: float) -> None:
        """Know nothing of these captions, nor of what was written since `from_s` of the audio."""
        self.notices.forget(from_s)
        # All steps of notices: to take one back could show words that are off the record.
        self._undo.forget_captions(ids | {_NOTICE})

    def _change_notice(self, change: Callable[[], None]) -> None:
        before = self.notices.texts

        def back() -> None:
            self.notices.show(before, self._speech.heard_s)

        change()
        if self.notices.texts != before:
            self._undo.push("notice", back, _NOTICE)

    def _target(self, lang: str) -> TargetCaptions:
        if lang not in ("", self._board.source, *self._targets.langs):
            raise ProtocolError("unknown-lang", f"{quoted(lang)} is not translated into.")
        return self._targets.of(lang)

    def _require_screens(self, lang: str) -> None:
        """Raise ProtocolError where nothing in this language can be shown."""
        langs = (self._board.source, *self._targets.langs)
        if lang not in langs:
            told = f"{quoted(lang)} is not shown: {', '.join(langs)} are."
            raise ProtocolError("unknown-lang", told)
        if self._facts.off_record:
            raise ProtocolError("off-record", "Go back on the record first: nothing is shown now.")
