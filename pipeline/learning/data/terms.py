"""Church terms in what was said, new ones, and what the recognizer makes of words. Pure.

Words are compared without case. A confusion is what was heard for what was said, word for word,
as a correction or a rule of the dictionary shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipeline.dictionary.rules import key
from pipeline.text.words import WORD

_LONGEST = 3
"""Words on a side; longer differences are another sentence, not a misheard word."""
_OFTEN = 2
# They have a capital everywhere, and no rule is needed for them.
_USUAL = frozenset("I I'm I'll I've I'd God Lord Jesus Christ Amen".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Confusion:
    """What was heard for what was said, and how often."""

    said: str
    heard: str
    count: int


def terms_in(text: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms whose words are in a text, in the order of `terms`."""
    # With a space at either end: "sin" is no part of "single".
    spoken = f" {key(text)} "
    return tuple(term for term in dict.fromkeys(terms) if f" {key(term)} " in spoken)


def confusions(spoken: Iterable[tuple[str, str]]) -> list[Confusion]:
    """Return what differs in pairs of (heard, said), the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for heard, said in spoken:
        counts.update(_differences(WORD.findall(heard), WORD.findall(said)))
    # Then by the words: the file is the same after each collection of the same sessions.
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [Confusion(said, heard, count) for (said, heard), count in ranked]


def new_terms(texts: Iterable[str], known: Iterable[str], most: int = 30) -> list[tuple[str, int]]:
    """Return names that were said again and again and that no rule knows, with how often.

    A name is a word that has a capital within a sentence, and never occurs without one.
    """
    capital: Counter[str] = Counter()
    small: set[str] = set()
    for text in texts:
        first = True
        for match in WORD.finditer(text):
            word = match[0]
            if word.islower():
                # A word that is also written small is no name.
                small.add(word)
            elif not first and word[0].isupper() and word not in _USUAL:
                capital[word] += 1
            # Behind these a capital says nothing: a sentence begins.
            first = text[match.end() : match.end() + 1] in ".!?:"
    taken = {key(part) for term in known for part in term.split()}
    found = [
        (word, count)
        for word, count in capital.most_common()
        if count >= _OFTEN and word.casefold() not in small and key(word) not in taken
    ]
    return found[:most]


def proposed_rules(
    spoken: Iterable[tuple[str, str]], known: Iterable[str], small_words: Mapping[str, int]
) -> list[Confusion]:
    """Return the rules that the dictionary might get out of pairs of (heard, said).

    A rule is worth it for a name, or for what was misheard twice. `known` are phrases that a rule
    hears already. Of one word that is also said rightly (`small_words`, how often) a rule would
    spoil every other sentence: with it go the words at its sides, as in "soul of Tarsus". A phrase
    that has no rarer word in it is left.
    """
    heard_already = {key(phrase) for phrase in known}
    counts: Counter[tuple[str, str]] = Counter()
    names: set[tuple[str, str]] = set()
    for heard, said in spoken:
        a, b = WORD.findall(heard), WORD.findall(said)
        for i, j, k, m in _replaced(a, b):
            is_name = any(not word.islower() for word in b[k:m])
            start, end, first, last = i, j, k, m
            if is_everyday(a[i:j], small_words):
                # The same words at both sides: they were heard rightly.
                start, end = max(0, i - 1), min(len(a), j + 1)
                first, last = max(0, k - 1), min(len(b), m + 1)
                if is_everyday(a[start:end], small_words):
                    continue
            rule = (" ".join(b[first:last]), " ".join(a[start:end]))
            counts[rule] += 1
            if is_name:
                names.add(rule)
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        Confusion(said, heard, count)
        for (said, heard), count in ranked
        if (count >= _OFTEN or (said, heard) in names) and key(heard) not in heard_already
    ]


def is_everyday(heard: Sequence[str], small_words: Mapping[str, int]) -> bool:
    """Whether all words of a phrase are ones that people say anyway."""
    return all(small_words.get(key(word), 0) > 0 for word in heard)


def _differences(heard: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """Return (said, heard) of each stretch of words that was replaced."""
    return [(" ".join(said[k:m]), " ".join(heard[i:j])) for i, j, k, m in _replaced(heard, said)]


def _replaced(heard: Sequence[str], said: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return where `heard` has other words than `said`: from, to in the one and in the other."""
    a, b = [key(word) for word in heard], [key(word) for word in said]
    return [
        (i, j, k, m)
        # autojunk would leave out frequent words of long texts, and find differences that are none.
        for what, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if what == "replace" and j - i <= _LONGEST and m - k <= _LONGEST
    ]
