"""Rules that hold for the rest of a service: applied to what is said next, and to what stands.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from contextlib import suppress

from pipeline.core.errors import ProtocolError
from pipeline.core.timestamps import utc_now
from pipeline.daemon.context import DaemonContext
from pipeline.daemon.coordinator import CaptionCoordinator
from pipeline.daemon.undo import Undo
from pipeline.daemon.written_texts import WrittenTexts
from pipeline.dictionary.matcher import applied
from pipeline.dictionary.rules import Rule
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import RuleMessage
from pipeline.records.events import RuleEvent

_MOST = 20
"""Captions that are put right at once, the newest: each is translated again."""


class HeldRules:
    """Holds rules, puts captions right by them, and takes both back."""

    def __init__(
        self,
        context: DaemonContext,
        coordinator: CaptionCoordinator,
        written: WrittenTexts,
        undo: Undo,
    ) -> None:
        self._dictionary = context.dictionary
        self._board = context.board
        self._recorder = context.recorder
        self._operators = context.hub.operators
        self._coordinator = coordinator
        self._written = written
        self._undo = undo

    def hold(self, heard: str, write: str) -> None:
        """Hold a rule until the service ends. Raises DictionaryError."""
        rule = self._dictionary.hold(heard, write)
        before = self._put_right(rule)
        self._tell(rule, removed=False)

        def back() -> None:
            self._dictionary.release(rule)
            self._tell(rule, removed=True)
            for message in before:
                with suppress(ProtocolError):  # it has left the history, or is off the record
                    self._coordinator.publish(self._board.put_back(message))

        self._undo.push(f"“{heard}” → “{write}” for this service", back)

    def restore(self, rules: tuple[tuple[str, str], ...]) -> None:
        """Hold the rules of the session that goes on. Raises DictionaryError."""
        for heard, write in rules:
            self._dictionary.hold(heard, write)

    def _put_right(self, rule: Rule) -> list[CaptionMessage]:
        """Correct the newest captions in which the phrase stands; return them as they were."""
        corrected: list[CaptionMessage] = []
        for old in reversed(self._board.snapshot().messages):
            if not old.final or old.target.engine == "operator":
                continue  # what is being said is heard again; an operator's own words stay
            text = applied(rule, old.source.text)
            if text == old.source.text:
                continue
            new = self._board.correct(old.id, text)
            if new is not None:
                corrected.append(old)
                self._coordinator.publish(new)
                self._written.retranslations.of_caption(new)
            if len(corrected) == _MOST:
                break
        return corrected

    def _tell(self, rule: Rule, *, removed: bool) -> None:
        message = RuleMessage(
            id=rule.id, heard=rule.hear[0], write=rule.write, removed=removed, held=True
        )
        event = RuleEvent(
            utc=utc_now(),
            id=message.id,
            heard=message.heard,
            write=message.write,
            removed=removed,
            held=True,
        )
        self._recorder.record(event)
        self._operators.rule(message)
