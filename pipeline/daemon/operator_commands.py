"""What operators may do, what they have set, and what of it can be taken back.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import UTC, datetime
from typing import Any, Literal

from pipeline.captions.board import Board
from pipeline.check.last_check import last_check
from pipeline.core.errors import DictionaryError, ProtocolError
from pipeline.core.types import CommandName
from pipeline.daemon.undo import Undo
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.codec import Command, Message
from pipeline.server.operator_feed import Operators
from pipeline.session.recorder import Recorder
from pipeline.session.resume import Unfinished

_CODES = {
    "dictionary-duplicate-phrase": "rule-exists",
    "dictionary-rule-gone": "rule-gone",
}


class Controls:
    """Obeys commands."""

    def __init__(
        self,
        *,
        board: Board,
        dictionary: Dictionary,
        operators: Operators,
        recorder: Recorder,
        publish: Callable[[Message | None], None],
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

    @property
    def facts(self) -> dict[str, Any]:
        """What is set, and what `undo` would take back, as operators' pages are told."""
        return {
            "undo": self._undo.says,
            "paused": self.paused,
            "blank": self.blank,
            "off_record": self.off_record,
        }

    @property
    def console(self) -> dict[str, Any]:
        """What a page needs that comes late, beside what the hub knows (`wire.console`)."""
        dictionary = str(self._dictionary.own) if self._dictionary.enabled else ""
        check = last_check(self._recorder.folder.parent)
        return {
            **self.facts,
            "dictionary": dictionary,
            "check": check,
            "off_record_s": self.off_record_s,
        }

    def obey(self, command: Command) -> None:
        """Do what an operator asks, and record it. Raises ProtocolError."""
        match command.name:
            case "pause" | "resume":
                self._switch("paused", "pause", "resume", on=command.name == "pause")
            case "blank" | "unblank":
                self._switch("blank", "blank", "unblank", on=command.name == "blank")
            case "edit":
                old = self._board.message(command.id)
                self._revise("edit", old, self._board.edit(command.id, command.text))
            case "hide":
                old = self._board.message(command.id)
                self._revise("hiding", old, self._board.hide(command.id))
            case "add-rule":
                self._add_rule(command.heard, command.write)
            case "off-record" | "on-record":
                self.off_record = command.name == "off-record"
            case "undo":
                self._undo.take_back()
        self._note(command.name, command.id)

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

    def _revise(self, did: str, old: Message, new: Message | None) -> None:
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
            facts = {"heard": heard, "write": write, "removed": removed}
            self._recorder.event("rule", id=rule.id, **facts)
            self._operators.rule(rule.id, heard, write, removed=removed)

        def back() -> None:
            try:
                self._dictionary.remove(text)
            except DictionaryError as error:
                raise _refusal(error) from None
            tell(removed=True)

        self._undo.push(f"rule “{heard}” → “{write}”", back)
        tell(removed=False)

    def _note(self, name: CommandName, caption_id: int = 0) -> None:
        self._recorder.event("command", name=name, id=caption_id)


def _refusal(error: DictionaryError) -> ProtocolError:
    code = _CODES.get(error.code, "rule-refused")
    return ProtocolError(code, f"{error.message} {error.fix}".rstrip())
