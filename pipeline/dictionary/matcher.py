"""Correct misheard words by the rules of the theological dictionary. Pure.

A rule holds the misheard phrase, its replacement and, if the phrase is everyday English, the words
that must or must not be near. Rules never apply to text that another rule has written, but a
corrected word is context for its neighbours, so two mishearings in one sentence help each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from pipeline.core.types import Correction, Transcript
from pipeline.dictionary.inflection import with_s
from pipeline.dictionary.rules import ANY_NUMBER, Rule, key
from pipeline.text.words import WORD

_JOIN = re.compile(r"(?:['’]?\s+|-)?")
"""Allowed between the words of one phrase: nothing only where letters are words (`UNSPACED`)."""


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
"""A phrase's entry, and the entries of its derived forms."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Compiled rules. Immutable, so a reload replaces it between two utterances."""

    rules: tuple[Rule, ...]
    entries: Mapping[str, _Entry]  # phrase in lower case, words separated by one space
    longest: Mapping[str, int]  # first word of a phrase -> words in its longest phrase

    def also(self, phrases: Mapping[str, str], source: str) -> Lexicon:
        """Return a lexicon that also replaces these phrases; existing rules take precedence."""
        entries, longest = dict(self.entries), dict(self.longest)
        for phrase, write in phrases.items():
            words = phrase.split()
            rule = Rule(f"{source}:{write}", (phrase,), write, source=source)
            # A written rule is more reliable than a phrase that only sounds alike.
            entries.setdefault(phrase, _Entry(rule, write, frozenset(), frozenset()))
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return Lexicon(self.rules, entries, longest)

    def hotwords(self, limit: int) -> str:
        """At most `limit` terms marked `hotword`, to bias speech recognition: "Isaiah, Golgotha".

        A file's terms keep their order. A later file comes first: the church's before the shipped.
        """
        # The negative number of a file's last rule, so that later files sort first.
        order = {rule.source: -number for number, rule in enumerate(self.rules)}
        marked = sorted((r for r in self.rules if r.hotword), key=lambda rule: order[rule.source])
        return ", ".join(list(dict.fromkeys(rule.write for rule in marked))[:limit])


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
    """Compile rules, shipped ones first. For the same phrase the later rule wins.

    A phrase also matches with a final "'s" and, unless `write` is a name, in the plural; `write`
    gets the same ending. An explicit phrase of a rule takes precedence over a derived one.
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

    Returns a new transcript with `text` and `corrections` set; each correction's `start` is the
    character position of its `found` in `raw_text`. `raw_text` itself does not change.
    """
    text, corrections = _written(lexicon, transcript.raw_text)
    return replace(transcript, text=text, corrections=corrections)


def applied(rule: Rule, text: str) -> str:
    """Return a text, corrected by one rule alone."""
    return _written(compile_lexicon([rule]), text)[0]


def _written(lexicon: Lexicon, raw: str) -> tuple[str, tuple[Correction, ...]]:
    pieces: list[str] = []
    corrections: list[Correction] = []
    done = 0
    for match in find(lexicon, raw):
        found = raw[match.start : match.end]
        written = _cased_like(found, match.write)
        # A listed name hears itself, and may be a common word: "we will hope" names nobody.
        is_name = match.rule.hear == (match.rule.write,)
        if written != found and not is_name:  # correctly recognized text is no correction
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

    Context is the text as corrected so far. This repeats until nothing more fits, so correcting a
    corrected text changes nothing. A chosen match stays chosen, so the loop ends.
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
    """Return the words of the text as corrected so far, and each heard word's index in it."""
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
            # Distances are counted in the corrected text, which may have more or fewer words.
            view += key(match.entry.write).split()
    return view, place


@lru_cache(maxsize=4096)  # more than all shipped rules: an operator's rule recompiles them
def _forms_of(rule: Rule) -> tuple[tuple[str, _Forms], ...]:
    """Return, for each phrase of a rule, its entry and the derived entries."""
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
    # A name has no plural, and a word that ends in s may already be a plural.
    is_name = _has_capital(write.rsplit(maxsplit=1)[-1])
    if not (is_name or phrase.endswith("s") or write.endswith("s")):
        yield with_s(phrase), with_s(write)


@lru_cache(maxsize=1024)  # hundreds of rules name the same few lists
def _all_forms(words: frozenset[str]) -> frozenset[str]:
    return words.union(form for word in words for form, _ in _inflected(word, word))


def _cased_like(found: str, write: str) -> str:
    """Return `write` in the case of `found`; a word with its own capital is a name."""
    # A text keeps its kind of apostrophe.
    if "’" in found:
        write = write.replace("'", "’")
    # A single capital letter is the start of a sentence, not a heading.
    if len(found) > 1 and found.isupper():
        words = write.split()
        return " ".join(word if _has_capital(word) else word.upper() for word in words)
    if found[0].isupper() and not _has_capital(write.split(maxsplit=1)[0]):
        return write[0].upper() + write[1:]
    return write


def _has_capital(word: str) -> bool:
    return word != word.lower()
