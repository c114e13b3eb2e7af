"""Rules that operators add: kept for good, or held for the rest of a service.

Those that are held are applied to what is said next, and to what stands.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from pipeline.core.errors import DictionaryError, ProtocolError
from pipeline.core.formats import utc_now
from pipeline.daemon.captions.target import Back, TargetCaptions
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.desk.undo import Undo
from pipeline.daemon.desk.written_texts import WrittenTexts
from pipeline.dictionary.glossary import Term, compile_glossary
from pipeline.dictionary.matcher import applied
from pipeline.dictionary.rules import Rule, key
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import PreviewMessage, Rewritten, RuleMessage
from pipeline.records.events import RuleEvent

_CODES = {"dictionary-duplicate-phrase": "rule-exists", "dictionary-rule-gone": "rule-gone"}

_HELD = -2
"""Stands for what is held among the ids of captions whose steps can be undone."""

_MOST = 20
"""Captions that are put right at once, the newest: each is translated again."""


class ServiceRules:
    """Adds and holds rules, puts captions right by them, and takes both back."""

    def __init__(
        self,
        context: DaemonContext,
        first: TargetCaptions,
        written: WrittenTexts,
        undo: Undo,
        at_s: Callable[[], float],
    ) -> None:
        """`at_s` tells where in the session's audio it is."""
        self._at_s = at_s
        self._releases: list[tuple[float, Callable[[], None]]] = []
        self._dictionary = context.dictionary
        self._first = first
        self._recorder = context.recorder
        self._operators = context.hub.operators
        self._written = written
        self._undo = undo

    def hold(self, heard: str, write: str) -> None:
        """Hold a rule until the service ends. Raises ProtocolError."""
        with refusing():
            # First: what is refused must not have changed a caption.
            rule = self._dictionary.hold(heard, write)
        told = RuleMessage(id=rule.id, heard=heard, write=write, removed=False, held=True)
        self._begin(told, self._put_right(rule), lambda: self._dictionary.release(rule))

    def preview(self, heard: str, write: str) -> PreviewMessage:
        """Return which captions `hold` would put right, or why it would be refused."""
        refused, found = "", list[tuple[CaptionMessage, str]]()
        try:
            found = list(self._changed(self._dictionary.rule_to_hold(heard, write)))
        except DictionaryError as error:
            refused = error.message
        return _preview(heard, write, refused, found)

    def add(self, heard: str, write: str) -> None:
        """Add a rule to the church's dictionary for good. Raises ProtocolError."""
        with refusing():
            # `text` is how it stands in the file: by that it is found there again.
            rule, text = self._dictionary.add(heard, write, datetime.now(UTC))

        def tell(*, removed: bool) -> None:
            event = RuleEvent(utc=utc_now(), id=rule.id, heard=heard, write=write, removed=removed)
            self._recorder.record(event)
            told = RuleMessage(id=rule.id, heard=heard, write=write, removed=removed)
            self._operators.rule(told)

        def back() -> None:
            with refusing():
                self._dictionary.remove(text)
            tell(removed=True)

        self._undo.push(f"rule “{heard}” → “{write}”", back)
        tell(removed=False)

    def hold_term(self, say: str, write: str, instead: str) -> None:
        """Hold how a word is said in the target language. Raises ProtocolError."""
        lang, glossaries = self._first.board.target, self._dictionary.glossaries
        with refusing():
            term = glossaries.hold(lang, say, write)
        told = RuleMessage(id=term.id, heard=say, write=write, removed=False, held=True, lang=lang)
        backs: list[Back] = []
        for old, text in self._rewritten(term, instead, write):
            # However many there are: nothing is translated again for it.
            if back := self._first.edit(old.id, text):
                self._written.settle(old.id)
                backs.append(back)
        self._begin(told, backs, lambda: glossaries.release(lang, term))

    def preview_term(self, say: str, write: str, instead: str) -> PreviewMessage:
        """Return which captions `hold_term` would change, or why it would be refused."""
        refused, found = "", list[tuple[CaptionMessage, str]]()
        try:
            term = self._dictionary.glossaries.term_to_hold(say, write)
            found = self._rewritten(term, instead, write)
        except DictionaryError as error:
            refused = error.message
        return _preview(say, write, refused, found)

    def forget(self, from_s: float) -> None:
        """Hold nothing that was held since `from_s` of the audio: its words are off the record."""
        # A copy: each that goes is taken out of the list.
        for begun in [each for each in self._releases if each[0] >= from_s]:
            self._releases.remove(begun)
            begun[1]()
        # Their steps back would find nothing to let go of.
        self._undo.forget_captions({_HELD})

    def restore(self, rules: Sequence[RuleEvent]) -> None:
        """Hold what was held in the session that goes on, as far as the settings still allow."""
        # Not recorded once more: the session's own record has them.
        for rule in rules:
            # Each by itself: dictionary and glossary are switched off separately.
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
            # Before anything else: off the record it must not be released a second time.
            self._releases.remove(begun)
            release()
            # At the same time: it goes off the record with the rule, never without it.
            self._tell(replace(told, removed=True), begun[0])
            for again in backs:
                with suppress(ProtocolError):  # it has left the history, or is off the record
                    again()

        self._undo.push(f"“{told.heard}” → “{told.write}” for this service", back, _HELD)

    def _put_right(self, rule: Rule) -> list[Back]:
        """Correct the newest captions in which the phrase stands; return what takes it back."""
        # A list: what is put right is no longer as it was found.
        return [self._written.put_right(old.id, text) for old, text in list(self._changed(rule))]

    def _changed(self, rule: Rule) -> Iterator[tuple[CaptionMessage, str]]:
        """Return the newest captions in which the phrase stands, each with its text put right."""
        each = ((old, applied(rule, old.source.text)) for old in self._standing())
        return islice(((old, text) for old, text in each if text != old.source.text), _MOST)

    def _rewritten(self, term: Term, instead: str, write: str) -> list[tuple[CaptionMessage, str]]:
        """Return the captions in which a term was said, each with its rendering replaced."""
        # Without a word in it there is nothing to look for on the screens.
        if not key(instead):
            return []
        said, rule = compile_glossary((term,), self._first.lang), Rule("instead", (instead,), write)
        each = ((old, applied(rule, old.target.text)) for old in self._standing())
        return [
            (old, text)
            for old, text in each
            if text != old.target.text and said.find(old.source.text)
        ]

    def _standing(self) -> Iterator[CaptionMessage]:
        """Return the finals that no operator has translated, newest first.

        What is being said is heard again anyway, and an operator's own words stay.
        """
        for message in reversed(self._first.board.snapshot().messages):
            if message.final and message.target.engine != "operator":
                yield message

    def _tell(self, message: RuleMessage, at_s: float) -> None:
        event = RuleEvent(
            utc=utc_now(),
            id=message.id,
            heard=message.heard,
            write=message.write,
            removed=message.removed,
            held=True,
            lang=message.lang,
            at_s=round(at_s, 3),
        )
        self._recorder.record(event)
        self._operators.rule(message)


def _preview(
    heard: str, write: str, refused: str, changed: Iterable[tuple[CaptionMessage, str]]
) -> PreviewMessage:
    captions = tuple(Rewritten(id=old.id, text=text) for old, text in changed)
    return PreviewMessage(heard=heard, write=write, refused=refused, captions=captions)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn an error of the dictionary into what operators are told: ProtocolError."""
    try:
        yield
    except DictionaryError as error:
        code = _CODES.get(error.code, "rule-refused")
        raise ProtocolError(code, f"{error.message} {error.fix}".rstrip()) from None
