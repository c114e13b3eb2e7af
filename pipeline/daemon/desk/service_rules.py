"""Rules that operators add: permanent, or held for the rest of a service.

Held rules apply to later speech, and to captions that are already shown.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TypeAlias

from pipeline.core.errors import DictionaryError, ProtocolError
from pipeline.core.formats import utc_now
from pipeline.daemon.captions.target import Back
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.desk.undo import Undo
from pipeline.daemon.desk.written_texts import WrittenTexts
from pipeline.dictionary.glossary import Term, compile_glossary
from pipeline.dictionary.matcher import applied
from pipeline.dictionary.rules import Rule, key
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import DoubtfulMessage, PreviewMessage, Rewritten, RuleMessage
from pipeline.records.events import RuleEvent

_CODES = {"dictionary-duplicate-phrase": "rule-exists", "dictionary-rule-gone": "rule-gone"}

_HELD = -2
"""The id of all held rules among the caption ids of undo steps."""

_Final: TypeAlias = CaptionMessage | DoubtfulMessage
_MOST = 20
"""Most captions that a rule corrects, the newest: each is translated again."""


class ServiceRules:
    """Adds and holds rules, corrects captions by them, and undoes both."""

    def __init__(
        self,
        context: DaemonContext,
        targets: Targets,
        written: WrittenTexts,
        undo: Undo,
        at_s: Callable[[], float],
    ) -> None:
        """`at_s` returns the position in the session's audio."""
        self._at_s = at_s
        self._releases: list[tuple[float, Callable[[], None]]] = []
        self._dictionary = context.dictionary
        self._targets, self._first = targets, targets[0]
        self._recorder = context.recorder
        self._operators = context.hub.operators
        self._written = written
        self._undo = undo

    def hold(self, heard: str, write: str) -> None:
        """Hold a rule until the service ends. Raises ProtocolError."""
        with refusing():
            # First: a refused rule must not change a caption.
            rule = self._dictionary.hold(heard, write)
        message = RuleMessage(id=rule.id, heard=heard, write=write, removed=False, held=True)
        self._begin(message, self._put_right(rule), lambda: self._dictionary.release(rule))

    def preview(self, heard: str, write: str) -> PreviewMessage:
        """Return which captions `hold` would correct, or why it would be refused."""
        rule = partial(self._dictionary.rule_to_hold, heard, write)
        return _preview(heard, write, lambda: self._changed(rule()))

    def add(self, heard: str, write: str) -> None:
        """Add a rule to the church's dictionary permanently. Raises ProtocolError."""
        with refusing():
            # `text` is the rule's text in the file, by which it can be found again.
            rule, text = self._dictionary.add(heard, write, datetime.now(UTC))
        message = RuleMessage(id=rule.id, heard=heard, write=write, removed=False)

        def back() -> None:
            with refusing():
                self._dictionary.remove(text)
            self._tell(replace(message, removed=True))

        self._undo.push(f"rule “{heard}” → “{write}”", back)
        self._tell(message)

    def hold_term(self, say: str, write: str, instead: str) -> None:
        """Hold a word's translation into the target language. Raises ProtocolError."""
        lang, glossaries = self._first.board.target, self._dictionary.glossaries
        with refusing():
            term = glossaries.hold(lang, say, write)
        rule = RuleMessage(id=term.id, heard=say, write=write, removed=False, held=True, lang=lang)
        backs: list[Back] = []
        for old, text in self._rewritten(term, instead, write):
            # Without a limit: no caption is translated again.
            if back := self._first.edit(old.id, text):
                self._written.settle(old.id)
                backs.append(back)
        self._begin(rule, backs, lambda: glossaries.release(lang, term))

    def preview_term(self, say: str, write: str, instead: str) -> PreviewMessage:
        """Return which captions `hold_term` would change, or why it would be refused."""
        term = partial(self._dictionary.glossaries.term_to_hold, say, write)
        return _preview(say, write, lambda: self._rewritten(term(), instead, write))

    def forget(self, from_s: float) -> None:
        """Release what was held since `from_s` of the audio: its words are off the record."""
        # A copy, because the loop removes entries from the list.
        for begun in [each for each in self._releases if each[0] >= from_s]:
            self._releases.remove(begun)
            begun[1]()
        # Their undo steps would find nothing to release.
        self._undo.forget_captions({_HELD})

    def restore(self, rules: Sequence[RuleEvent]) -> None:
        """Hold again what the continued session held, as far as the settings still allow."""
        # Not recorded again: the session's own record has them.
        for rule in rules:
            # Each separately: dictionary and glossary can be switched off separately.
            with suppress(DictionaryError):
                self._releases.append((rule.at_s, self._held_again(rule)))

    def _held_again(self, rule: RuleEvent) -> Callable[[], None]:
        """Hold a rule or a rendering; return what releases it. Raises DictionaryError."""
        if rule.lang:
            glossaries = self._dictionary.glossaries
            term = glossaries.hold(rule.lang, rule.heard, rule.write)
            return partial(glossaries.release, rule.lang, term)
        return partial(self._dictionary.release, self._dictionary.hold(rule.heard, rule.write))

    def _begin(self, told: RuleMessage, backs: Sequence[Back], release: Callable[[], None]) -> None:
        begun = (self._at_s(), release)
        self._releases.append(begun)
        self._tell(told, begun[0])

        def back() -> None:
            # First: going off the record must not release it a second time.
            self._releases.remove(begun)
            release()
            # With the same time, so that both lines go off the record together.
            self._tell(replace(told, removed=True), begun[0])
            for again in backs:
                with suppress(ProtocolError):  # it has left the history, or is off the record
                    again()

        self._undo.push(f"“{told.heard}” → “{told.write}” for this service", back, _HELD)

    def _put_right(self, rule: Rule) -> list[Back]:
        """Correct the newest captions that hold the phrase; return how to undo it."""
        # A list, because corrections change the captions that the iterator reads.
        changed, shown = list(self._changed(rule)), self._first.board.snapshot().messages
        # The last ones wait for a final that may have been recognized without the rule.
        return [self._written.put_right(old.id, text) for old, text in changed] + [
            each.put_right_later(old.id, rule)
            for old in shown
            if not old.final
            for each in self._targets
        ]

    def _changed(self, rule: Rule) -> Iterator[tuple[_Final, str]]:
        """Return the newest captions that hold the phrase, each with its corrected text."""
        each = ((old, applied(rule, old.source.text)) for old in self._standing())
        return islice(((old, text) for old, text in each if text != old.source.text), _MOST)

    def _rewritten(self, term: Term, instead: str, write: str) -> list[tuple[_Final, str]]:
        """Return the captions whose source holds a term, each with its rendering replaced."""
        # A phrase without a word cannot be searched for.
        if not key(instead):
            return []
        said, rule = compile_glossary((term,), self._first.lang), Rule("instead", (instead,), write)
        each = ((old, applied(rule, old.target.text)) for old in self._standing())
        return [
            (old, text)
            for old, text in each
            if text != old.target.text and said.find(old.source.text)
        ]

    def _standing(self) -> list[_Final]:
        """Return the finals, held ones too, that no operator has translated, newest first.

        A partial changes anyway, and an operator's own words are kept.
        """
        held = self._first.coordinator.doubts.messages(0.0)
        finals: list[_Final] = [m for m in self._first.board.snapshot().messages if m.final]
        finals = sorted([*finals, *held], key=lambda each: -each.id)
        return [each for each in finals if each.target.engine != "operator"]

    def _tell(self, message: RuleMessage, at_s: float = 0.0) -> None:
        shared = {key: value for key, value in asdict(message).items() if key != "type"}
        self._recorder.record(RuleEvent(utc=utc_now(), at_s=round(at_s, 3), **shared))
        self._operators.tell(message)


def _preview(
    heard: str, write: str, changed: Callable[[], Iterable[tuple[_Final, str]]]
) -> PreviewMessage:
    try:
        captions = tuple(Rewritten(id=old.id, text=text) for old, text in changed())
    except DictionaryError as error:
        return PreviewMessage(heard=heard, write=write, refused=error.message, captions=())
    return PreviewMessage(heard=heard, write=write, refused="", captions=captions)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn a dictionary error into a ProtocolError for the operators."""
    try:
        yield
    except DictionaryError as error:
        code = _CODES.get(error.code, "rule-refused")
        raise ProtocolError(code, f"{error.message} {error.fix}".rstrip()) from None
