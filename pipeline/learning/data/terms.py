"""Find church terms in spoken text, new terms, and misheard words. Pure functions.

Words are compared without case. A confusion is a pair of misheard words and the words really said,
found in a correction or a rule of the dictionary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipeline.core.languages import language
from pipeline.dictionary.rules import key
from pipeline.text.words import UNSPACED, WORD, begins_sentence

_LONGEST = 3
"""Most words on each side; a longer difference is another sentence, not a misheard word."""
_OFTEN = 2
_MOST_NEW = 30
_NO_SPACE = re.compile(f"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")
# These always have a capital, and need no rule.
_USUAL = frozenset("I I'm I'll I've I'd God Lord Jesus Christ Amen".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Confusion:
    """Misheard words, what was really said, and how often."""

    said: str
    heard: str
    count: int


def terms_in(text: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms whose words are in a text, in the order of `terms`."""
    # With a space at both ends, so that "sin" does not match in "single".
    spoken = f" {key(text)} "
    return tuple(term for term in dict.fromkeys(terms) if f" {key(term)} " in spoken)


def confusions(spoken: Iterable[tuple[str, str]]) -> list[Confusion]:
    """Return the differences in pairs of (heard, said), the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for heard, said in spoken:
        a, b = WORD.findall(heard), WORD.findall(said)
        counts.update((_phrase(b[k:m]), _phrase(a[i:j])) for i, j, k, m in _replaced(a, b))
    # Then by the words, so that the same sessions always give the same file.
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [Confusion(said, heard, count) for (said, heard), count in ranked]


def new_terms(texts: Iterable[str], known: Iterable[str], lang: str) -> list[tuple[str, int]]:
    """Return repeated names that no rule knows, with their counts.

    A name is a word that has a capital within a sentence and never occurs without one. In a
    language of capital nouns there are none: nothing tells them from other nouns.
    """
    capital: Counter[str] = Counter()
    small: set[str] = set()
    for text in texts:
        for match in WORD.finditer(text):
            word = match[0]
            if word.islower():
                # A word that also occurs in lower case is no name.
                small.add(word)
            elif _is_name(word, lang) and not begins_sentence(text, match.start()):
                capital[word] += 1
    taken = {key(part) for term in known for part in term.split()}
    found = [
        (word, count)
        for word, count in capital.most_common()
        if count >= _OFTEN and word.casefold() not in small and key(word) not in taken
    ]
    return found[:_MOST_NEW]


def _is_name(word: str, lang: str) -> bool:
    """Whether a capital shows a name: many scripts have none, and German gives one to all nouns."""
    has_capital = word != word.lower() and word not in _USUAL
    return has_capital and language(lang).nouns == "small"


def proposed_rules(
    spoken: Iterable[tuple[str, str]],
    known: Iterable[str],
    small_words: Mapping[str, int],
    lang: str,
) -> list[Confusion]:
    """Return rules to propose for the dictionary, from pairs of (heard, said).

    A rule is proposed for a name, or for words misheard twice. `known` are phrases that a rule
    already matches; what consists of them needs none. `small_words` counts everyday words: a rule
    for such a word alone would damage correct sentences, so the rule includes its neighbours, as in
    "soul of Tarsus". A phrase of only everyday words gets no rule.
    """
    heard_already = {key(phrase) for phrase in known}
    counts: Counter[tuple[str, str]] = Counter()
    names: set[tuple[str, str]] = set()
    for heard, said in spoken:
        a, b = WORD.findall(heard), WORD.findall(said)
        for i, j, k, m in _replaced(a, b):
            is_name = any(_is_name(word, lang) for word in b[k:m])
            start, end, first, last = i, j, k, m
            if is_everyday(a[i:j], small_words):
                # The neighbours are equal in both texts: they were recognized correctly.
                start, end = max(0, i - 1), min(len(a), j + 1)
                first, last = max(0, k - 1), min(len(b), m + 1)
                if is_everyday(a[start:end], small_words):
                    continue
            rule = (_phrase(b[first:last]), _phrase(a[start:end]))
            counts[rule] += 1
            if is_name:
                names.add(rule)
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        Confusion(said, heard, count)
        for (said, heard), count in ranked
        if (count >= _OFTEN or (said, heard) in names)
        and not _is_made_of(key(heard).split(), heard_already)
    ]


def _phrase(words: Sequence[str]) -> str:
    """Return words as they are written: Chinese, for one, has no spaces."""
    return _NO_SPACE.sub("", " ".join(words))


def _is_made_of(heard: Sequence[str], phrases: Collection[str]) -> bool:
    """Whether words are known phrases one after another."""
    return not heard or any(
        " ".join(heard[:end]) in phrases and _is_made_of(heard[end:], phrases)
        for end in range(1, len(heard) + 1)
    )


def is_everyday(heard: Sequence[str], small_words: Mapping[str, int]) -> bool:
    """Whether all words of a phrase are everyday words."""
    return all(small_words.get(key(word), 0) > 0 for word in heard)


def _replaced(heard: Sequence[str], said: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return the ranges (start, end in `heard`; start, end in `said`) of replaced words."""
    a, b = [key(word) for word in heard], [key(word) for word in said]
    return [
        (i, j, k, m)
        # autojunk would ignore frequent words of long texts and so find false differences.
        for what, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if what == "replace" and j - i <= _LONGEST and m - k <= _LONGEST
    ]
