"""Correct misheard words by the rules of the theological dictionary. Pure.

A rule says what is heard, what to write instead and, where the heard words are everyday English,
which words must or must not stand near.
Rules never apply to what another rule has written, but a corrected word counts as context for its
neighbours, so two mishearings in one sentence help each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from pipeline.core.types import Correction, Transcript
from pipeline.dictionary.inflection import with_s
from pipeline.dictionary.rules import ANY_NUMBER, Rule, key, parse_rules
from pipeline.text.words import WORD

__all__ = ["Found", "Lexicon", "Rule", "compile_lexicon", "correct", "find", "parse_rules"]

_JOIN = re.compile(r"['’]?\s+|-")  # what may stand between the words of one phrase


@dataclass(frozen=True, slots=True)
class _Entry:
    """The entry of one phrase: its rule, the text to write, its context words in all forms."""

    rule: Rule
    write: str
    near: frozenset[str]
    not_near: frozenset[str]

    def fits(self, around: Collection[str]) -> bool:
        if not self.not_near.isdisjoint(around):
            return False
        if not self.near or not self.near.isdisjoint(around):
            return True
        return ANY_NUMBER in self.near and any(word.isdecimal() for word in around)


_Forms: TypeAlias = tuple[_Entry, tuple[tuple[str, _Entry], ...]]
"""Of a phrase its entry, and the entries of the forms derived from it."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Compiled rules. Immutable, so a reload swaps one for another between two utterances."""

    rules: tuple[Rule, ...]
    entries: Mapping[str, _Entry]  # phrase in lower case, words parted by one space
    longest: Mapping[str, int]  # first word of a phrase -> words in its longest phrase

    def also(self, phrases: Mapping[str, str], source: str) -> Lexicon:
        """Return a lexicon that also writes these phrases; where rules have one, theirs holds."""
        entries, longest = dict(self.entries), dict(self.longest)
        for phrase, write in phrases.items():
            words = phrase.split()
            rule = Rule(f"{source}:{write}", (phrase,), write, source=source)
            # A rule that somebody wrote knows more than what only sounds alike.
            entries.setdefault(phrase, _Entry(rule, write, frozenset(), frozenset()))
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return Lexicon(self.rules, entries, longest)

    def hotwords(self, limit: int) -> str:
        """At most `limit` terms marked `hotword`, to bias speech recognition: "Isaiah, Golgotha".

        A file's terms keep their order; a later file's come first: the church's before the shipped.
        """
        # The number of a file's last rule, so that later files sort before earlier ones.
        order = {rule.source: -number for number, rule in enumerate(self.rules)}
        marked = sorted((r for r in self.rules if r.hotword), key=lambda rule: order[rule.source])
        return ", ".join(list(dict.fromkeys(rule.write for rule in marked))[: max(limit, 0)])


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase in a text whose rule applies; `write` is the rule's, with the phrase's ending."""

    rule: Rule
    write: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Match:
    first: int  # index of the first word
    end: int  # index after the last word
    entry: _Entry


def compile_lexicon(rules: Iterable[Rule]) -> Lexicon:
    """Compile rules, shipped ones first. On the same phrase the later rule wins.

    A phrase also matches with "'s" behind it and, unless a name is written, in the plural;
    `write` takes the same ending. A phrase spelled out by a rule goes before one derived so.
    """
    rules = tuple(rules)
    chosen = {phrase: forms for rule in rules for phrase, forms in _forms_of(rule)}
    entries: dict[str, _Entry] = {}
    spelled_out: dict[str, _Entry] = {}
    for phrase, (entry, derived) in chosen.items():
        spelled_out[phrase] = entry
        entries.update(derived)
    entries |= spelled_out  # last, so that they replace forms derived by other rules
    longest: dict[str, int] = {}
    for phrase in entries:
        words = phrase.split()
        longest[words[0]] = max(longest.get(words[0], 0), len(words))
    return Lexicon(rules, entries, longest)


def correct(lexicon: Lexicon, transcript: Transcript) -> Transcript:
    """Apply the rules to `transcript.raw_text`, left to right, the longest phrase first.

    Returns a new transcript with `text` and `corrections` filled; each correction's `start` counts
    characters of `raw_text`, where its `found` stands. `raw_text` itself stays as it was.
    """
    text, corrections = _written(lexicon, transcript.raw_text)
    return replace(transcript, text=text, corrections=corrections)


def applied(rule: Rule, text: str) -> str:
    """Return a text as one rule alone would write it."""
    return _written(compile_lexicon([rule]), text)[0]


def _written(lexicon: Lexicon, raw: str) -> tuple[str, tuple[Correction, ...]]:
    pieces: list[str] = []
    corrections: list[Correction] = []
    done = 0
    for match in find(lexicon, raw):
        found = raw[match.start : match.end]
        written = _cased_like(found, match.write)
        if written != found:  # what was recognized right is no correction
            corrections.append(Correction(match.rule.id, found, written, match.start))
            pieces += raw[done : match.start], written
            done = match.end
    return "".join([*pieces, raw[done:]]), tuple(corrections)


def find(lexicon: Lexicon, text: str) -> list[Found]:
    """Return the phrases of a text whose rules apply, left to right, without overlap."""
    spans = [match.span() for match in WORD.finditer(text)]
    words = [key(text[start:end]) for start, end in spans]
    return [
        Found(m.entry.rule, m.entry.write, spans[m.first][0], spans[m.end - 1][1])
        for m in _choose(words, _candidates(lexicon, text, words, spans))
    ]


def _candidates(
    lexicon: Lexicon, raw: str, words: list[str], spans: list[tuple[int, int]]
) -> list[_Match]:
    """Return all phrases in the text, whatever their context; left to right, longest first."""
    matches = []
    for first, word in enumerate(words):
        for end in range(min(first + lexicon.longest.get(word, 0), len(words)), first, -1):
            entry = lexicon.entries.get(" ".join(words[first:end]))
            if entry and all(
                _JOIN.fullmatch(raw, spans[i][1], spans[i + 1][0]) for i in range(first, end - 1)
            ):
                matches.append(_Match(first, end, entry))
    return matches


def _choose(words: list[str], candidates: list[_Match]) -> list[_Match]:
    """Return the candidates whose context fits, without overlap, in order.

    Context is the text as corrected so far, and this repeats until nothing more fits; so correcting
    a corrected text changes nothing. A chosen match stays chosen, so the loop ends.
    """
    chosen: list[_Match] = []
    taken: set[int] = set()
    while True:
        view, place = _view(words, chosen)
        more = []
        for match in candidates:
            if not taken.isdisjoint(range(match.first, match.end)):
                continue
            reach = match.entry.rule.within_words
            first, end = place[match.first], place[match.end - 1] + 1
            if match.entry.fits(view[max(0, first - reach) : first] + view[end : end + reach]):
                more.append(match)
                taken.update(range(match.first, match.end))
        if not more:
            return chosen
        chosen = sorted(chosen + more, key=lambda match: match.first)


def _view(words: list[str], chosen: list[_Match]) -> tuple[list[str], list[int]]:
    """Return the words of the text as corrected so far, and each heard word's place in it."""
    view: list[str] = []
    place: list[int] = []
    by_first = {match.first: match for match in chosen}
    while len(place) < len(words):
        match = by_first.get(len(place))
        if match is None:
            place.append(len(view))
            view.append(words[len(place) - 1])
        else:
            place += [len(view)] * (match.end - match.first)
            # Distances are counted in what is written, which may be more or fewer words.
            view += key(match.entry.write).split()
    return view, place


@lru_cache(maxsize=4096)  # more than ship: an operator's rule is compiled with all of them again
def _forms_of(rule: Rule) -> tuple[tuple[str, _Forms], ...]:
    """Return of each phrase of a rule its entry, and those derived from it."""
    near, not_near = _all_forms(rule.near), _all_forms(rule.not_near)
    found: list[tuple[str, _Forms]] = []
    for phrase in map(key, rule.hear):
        derived = tuple(
            (form, _Entry(rule, write, near, not_near))
            for form, write in _inflected(phrase, rule.write)
        )
        found.append((phrase, (_Entry(rule, rule.write, near, not_near), derived)))
    return tuple(found)


def _inflected(phrase: str, write: str) -> Iterator[tuple[str, str]]:
    yield f"{phrase}'s", f"{write}'s"
    # A name has no plural, and a word in s may be one.
    is_name = _has_capital(write.rsplit(maxsplit=1)[-1])
    if not (is_name or phrase.endswith("s") or write.endswith("s")):
        yield with_s(phrase), with_s(write)


@lru_cache(maxsize=1024)  # hundreds of rules name the same few lists
def _all_forms(words: frozenset[str]) -> frozenset[str]:
    return words.union(form for word in words for form, _ in _inflected(word, word))


def _cased_like(found: str, write: str) -> str:
    """Return `write` in the case of `found`; a word with a capital of its own is a name."""
    # A text keeps the apostrophes that it has.
    if "’" in found:
        write = write.replace("'", "’")
    # One capital letter alone begins a sentence; it is no heading.
    if len(found) > 1 and found.isupper():
        words = write.split()
        return " ".join(word if _has_capital(word) else word.upper() for word in words)
    if found[0].isupper() and not _has_capital(write.split(maxsplit=1)[0]):
        return write[0].upper() + write[1:]
    return write


def _has_capital(word: str) -> bool:
    return word != word.lower()
