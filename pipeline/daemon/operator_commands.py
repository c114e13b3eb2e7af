"""What operators may do, what they have set, and what of it can be taken back.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import UTC, datetime
from typing import Literal

from pipeline.captions.board import CaptionBoard
from pipeline.check.last_check import last_check
from pipeline.core.errors import DictionaryError, ProtocolError
from pipeline.core.timestamps import utc_now
from pipeline.core.types import CommandName
from pipeline.daemon.undo import Undo
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import (
    AddRuleCommand,
    CommandMessage,
    EditCommand,
    HideCommand,
    PlainCommand,
    caption_of,
)
from pipeline.protocol.messages import ConsoleMessage, DoneMessage, RuleMessage
from pipeline.records.events import CommandEvent, RuleEvent
from pipeline.server.operator_feed import OperatorFeed
from pipeline.session.recorder import SessionRecorder
from pipeline.session.resume import Unfinished

_CODES = {
    "dictionary-duplicate-phrase": "rule-exists",
    "dictionary-rule-gone": "rule-gone",
}


class OperatorCommands:
    """Obeys commands."""

    def __init__(
        self,
        *,
        board: CaptionBoard,
        dictionary: Dictionary,
        operators: OperatorFeed,
        recorder: SessionRecorder,
        publish: Callable[[CaptionMessage | None], None],
        off_record_s: float,
    ) -> None:
        """Take the parts.

        `publish` shows a new version of a caption; None is no change. `off_record_s`: how many
        seconds of what has just been said `off-record` takes away.
        """
        self._board = board
        self._dictionary = dictionary
        self._operators = operators
        self._recorder = recorder
        self._publish = publish
        self._undo = Undo()
        self.paused = False
        self.blank = False
        self.off_record = False
        """Nothing is heard, shown or kept. Only `on-record` ends it."""
        self.off_record_s = off_record_s

    def done(self, name: CommandName) -> DoneMessage:
        """Return what operators' pages are told of a command that was obeyed."""
        return DoneMessage(
            name=name,
            undo=self._undo.says,
            paused=self.paused,
            blank=self.blank,
            off_record=self.off_record,
        )

    @property
    def console(self) -> ConsoleMessage:
        """What a page needs that comes late, without what only the hub knows."""
        return ConsoleMessage(
            dictionary=str(self._dictionary.own) if self._dictionary.enabled else "",
            undo=self._undo.says,
            paused=self.paused,
            blank=self.blank,
            off_record=self.off_record,
            off_record_s=self.off_record_s,
            check=last_check(self._recorder.folder.parent),
        )

    def obey(self, command: CommandMessage) -> None:
        """Do what an operator asks, and record it. Raises ProtocolError."""
        match command:
            case EditCommand(id=key, text=text):
                self._revise("edit", self._board.message(key), self._board.edit(key, text))
            case HideCommand(id=key):
                self._revise("hiding", self._board.message(key), self._board.hide(key))
            case AddRuleCommand(heard=heard, write=write):
                self._add_rule(heard, write)
            case PlainCommand(name="pause" | "resume" as name):
                self._switch("paused", "pause", "resume", on=name == "pause")
            case PlainCommand(name="blank" | "unblank" as name):
                self._switch("blank", "blank", "unblank", on=name == "blank")
            case PlainCommand(name="off-record" | "on-record" as name):
                self.off_record = name == "off-record"
            case PlainCommand(name="undo"):
                self._undo.take_back()
        self._note(command.name, caption_of(command))

    def go_on(self, earlier: Unfinished) -> None:
        """Set what was set in the session that goes on."""
        self.paused = earlier.set_by_operator("pause", "resume")
        self.blank = earlier.set_by_operator("blank", "unblank")
        self.off_record = earlier.set_by_operator("off-record", "on-record")

    def forget(self, ids: Container[int]) -> None:
        """Forget what was done to captions that are gone."""
        self._undo.forget_captions(ids)

    def _switch(
        self,
        fact: Literal["paused", "blank"],
        name: CommandName,
        opposite: CommandName,
        *,
        on: bool,
    ) -> None:
        """Set one of the two facts, or take it back."""

        def back() -> None:
            setattr(self, fact, False)
            self._note(opposite)  # a session that is resumed after a crash reads it there

        if on and not getattr(self, fact):
            self._undo.push(name, back)
        elif not on:
            self._undo.forget(name)
        setattr(self, fact, on)

    def _revise(self, did: str, old: CaptionMessage, new: CaptionMessage | None) -> None:
        """Show what was done to a caption, if it has changed anything."""
        if new is not None:
            self._undo.push(
                f"{did} of caption {old.id}",
                lambda: self._publish(self._board.put_back(old)),
                old.id,
            )
            self._publish(new)

    def _add_rule(self, heard: str, write: str) -> None:
        try:
            rule, text = self._dictionary.add(heard, write, datetime.now(UTC))
        except DictionaryError as error:
            raise _refusal(error) from None

        def tell(*, removed: bool) -> None:
            event = RuleEvent(utc=utc_now(), id=rule.id, heard=heard, write=write, removed=removed)
            self._recorder.record(event)
            told = RuleMessage(id=rule.id, heard=heard, write=write, removed=removed)
            self._operators.rule(told)

        def back() -> None:
            try:
                self._dictionary.remove(text)
            except DictionaryError as error:
                raise _refusal(error) from None
            tell(removed=True)

        self._undo.push(f"rule “{heard}” → “{write}”", back)
        tell(removed=False)

    def _note(self, name: CommandName, caption_id: int = 0) -> None:
        self._recorder.record(CommandEvent(utc=utc_now(), name=name, id=caption_id))


def _refusal(error: DictionaryError) -> ProtocolError:
    code = _CODES.get(error.code, "rule-refused")
    return ProtocolError(code, f"{error.message} {error.fix}".rstrip())
