"""What operators write on the screens: corrections, typed captions, notices; each can be undone.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.reports import Retranslated
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.captions.language import Back
from pipeline.daemon.captions.languages import Languages
from pipeline.daemon.captions.retranslations import Retranslations
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.desk.notices import Notices
from pipeline.daemon.desk.undo import Undo
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import VerseCommand
from pipeline.workers.queues import Retranslation

_NOTICE = -1
"""Stands for the notice among the ids of captions whose steps can be undone."""


def _nothing() -> None:
    """Take nothing back."""


class Speech(Protocol):
    """What is said meanwhile, and what makes it readable in another language."""

    @property
    def heard_s(self) -> float:
        """Where in the session's audio it is, seconds."""

    def settle(self) -> None:
        """Let what is said from now on be a caption of its own: a final was changed."""

    def take_id(self) -> int:
        """Return the id of a caption that is typed."""

    def retranslate(self, request: Retranslation) -> None:
        """Have an operator's text translated; Retranslated reports follow."""


class WrittenTexts:
    """Puts on the board and on every screen what operators write."""

    def __init__(
        self,
        context: DaemonContext,
        coordinator: CaptionCoordinator,
        speech: Speech,
        undo: Undo,
        languages: Languages,
    ) -> None:
        self._facts = context.facts
        self._board = context.targets[0].board
        self._verses = context.targets[0].verses
        self._coordinator = coordinator
        self._speech = speech
        self._undo = undo
        self._languages = languages
        self.retranslations = Retranslations(self._board, coordinator, speech.retranslate)
        self.notices = Notices(
            context.sinks,
            context.recorder,
            (self.retranslations, *languages.retranslations),
            self._board.source,
        )

    def revise(
        self,
        did: str,
        old: CaptionMessage,
        new: CaptionMessage | None,
        also_back: Back = _nothing,
    ) -> None:
        """Show what was done to a caption, if it has changed anything.

        `also_back` takes back what was done to it in further languages.
        """

        def back() -> None:
            also_back()
            self._coordinator.publish(self._board.put_back(old))

        if new is not None:
            self._speech.settle()  # else what follows would be in a caption that stays as it is
            self._undo.push(f"{did} of caption {old.id}", back, old.id)
            self._coordinator.publish(new)

    def correct(self, key: int, text: str) -> None:
        """Show what was really said, and have it translated. Raises ProtocolError."""
        old, new = self._board.message(key), self._board.correct(key, text)
        if new is not None:
            self.revise("correction", old, new, self._languages.correct(key, text))
            self.retranslations.of_caption(new)

    def on_retranslated(self, result: Retranslated) -> None:
        """Show what was made of a text, in the language that it was made for."""
        if result.target == self._board.target:
            self.retranslations.on_retranslated(result)
        else:
            self._languages.on_retranslated(result)

    def edit(self, key: int, text: str, lang: str) -> None:
        """Show an operator's own translation; `lang` "" is the first target's.

        Raises ProtocolError.
        """
        if lang in ("", self._board.source, self._board.target):
            self.revise("edit", self._board.message(key), self._board.edit(key, text))
        elif back := self._languages.edit(lang, key, text):
            self._speech.settle()
            self._undo.push(f"edit of caption {key}", back, key)

    def hide(self, key: int) -> None:
        """Take a caption off every screen, in every language. Raises ProtocolError."""
        old, also_back = self._board.message(key), self._languages.hide(key)
        self.revise("hiding", old, self._board.hide(key), also_back)

    def unhide(self, key: int) -> None:
        """Show a hidden caption again, in every language. Raises ProtocolError."""
        old, new = self._board.message(key), self._board.unhide(key)
        self.revise("bringing back", old, new, self._languages.unhide(key))
        self.retranslations.of_shown_again(new)

    def settle(self, key: int) -> None:
        """Let what is said next not go on with a caption that an operator changes, or will."""
        # Speech returns to the newest one only; to settle another would cut what is being said.
        if key >= self._board.last_id:
            self._speech.settle()

    def approve(self, key: int) -> None:
        """Take the mark of a doubtful caption away, in every language. Raises ProtocolError."""
        old, also_back = self._board.message(key), self._languages.approve(key)
        # Where only a further language had the mark, this caption stays as it is.
        if old.doubtful or also_back is None:
            self.revise("approval", old, self._board.approve(key), also_back or _nothing)
        else:
            self._undo.push(f"approval of caption {key}", also_back, key)

    def put_right(self, old: CaptionMessage, text: str) -> Back | None:
        """Correct a caption by a rule; return what takes that back, None if nothing changed."""
        # No step of its own to undo: the rule's takes all of its captions back at once.
        new = self._board.correct(old.id, text)
        if new is None:
            return None
        self.settle(old.id)
        self._coordinator.publish(new)
        self.retranslations.of_caption(new)
        also_back = self._languages.correct(old.id, text)

        def back() -> None:
            also_back()
            self._coordinator.publish(self._board.put_back(old))

        return back

    def settle_verse(self, command: VerseCommand) -> None:
        """Show the suggested verse with its caption, or leave it alone. Raises ProtocolError."""
        if command.name == "dismiss-verse":
            self._verses.dismiss(command.id)
            return
        old = self._board.message(command.id)  # first: a refusal must not use the suggestion up
        self.revise("verse", old, self._board.put_verse(old.id, self._verses.take(old.id)))

    def say(self, text: str, lang: str) -> int:
        """Show a caption that nobody has spoken; return its id. Raises ProtocolError."""
        self._require_screens(lang)
        # What is said from now on is a caption of its own, behind the typed one.
        self._speech.settle()
        key = self._speech.take_id()
        at_s = self._speech.heard_s
        is_further = lang in self._languages.langs
        message = None if is_further else self._board.add_typed(key, at_s, text, lang)
        also_back: Back = _nothing
        if lang != self._board.target:
            also_back = self._languages.say(key, at_s, text, lang)

        def back() -> None:
            also_back()
            if message is not None:
                self._coordinator.publish(self._board.hide(key))

        self._undo.push(f"typed caption {key}", back, key)
        if message is not None:
            self._coordinator.publish(message)
            if message.corrected:
                self.retranslations.of_caption(message)
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
        self.retranslations.forget()
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

    def _require_screens(self, lang: str) -> None:
        """Raise ProtocolError where nothing in this language can be shown."""
        langs = (self._board.source, self._board.target, *self._languages.langs)
        if lang not in langs:
            told = f"{quoted(lang)} is not shown: {', '.join(langs)} are."
            raise ProtocolError("unknown-lang", told)
        if self._facts.off_record:
            raise ProtocolError("off-record", "Go back on the record first: nothing is shown now.")
