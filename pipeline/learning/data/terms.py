"""Church terms in what was said, new ones, and what the recognizer makes of words. Pure.

Words are compared without case. A confusion is what was heard for what was said, word for word,
as a correction or a rule of the dictionary shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipeline.dictionary.rules import key
from pipeline.text.words import WORD

_LONGEST = 3
"""Words on a side; longer differences are another sentence, not a misheard word."""
_OFTEN = 2
_USUAL = frozenset("I I'm I'll I've I'd God Lord Jesus Christ Amen".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Confusion:
    """What was heard for what was said, and how often."""

    said: str
    heard: str
    count: int


def terms_in(text: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return those terms whose words stand in a text, in their own order."""
    spoken = f" {key(text)} "
    return tuple(term for term in dict.fromkeys(terms) if f" {key(term)} " in spoken)


def confusions(spoken: Iterable[tuple[str, str]]) -> list[Confusion]:
    """Return what differs in pairs of (heard, said), the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for heard, said in spoken:
        counts.update(_differences(WORD.findall(heard), WORD.findall(said)))
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [Confusion(said, heard, count) for (said, heard), count in ranked]


def new_terms(texts: Iterable[str], known: Iterable[str], most: int = 30) -> list[tuple[str, int]]:
    """Return names that were said again and again and that no rule knows, with how often.

    A name is a word that stands with a capital within a sentence, and never without.
    """
    capital: Counter[str] = Counter()
    small: set[str] = set()
    for text in texts:
        first = True
        for match in WORD.finditer(text):
            word = match[0]
            if word.islower():
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
    found: Sequence[Confusion],
    known: Iterable[str],
    small_words: Mapping[str, int],
    everyday: Collection[str] = (),
) -> list[Confusion]:
    """Return the confusions that are worth a rule of the dictionary: a name, or seen twice.

    `known` are phrases that a rule hears already. What was heard must not be a word that is also
    said rightly elsewhere (`small_words`, how often), nor one of the `everyday` ones: a rule would
    spoil that.
    """
    heard_already = {key(phrase) for phrase in known}
    return [
        each
        for each in found
        if (each.count >= _OFTEN or not each.said.islower())
        and key(each.heard) not in heard_already
        and small_words.get(key(each.heard), 0) == 0
        and key(each.heard) not in everyday
    ]


def _differences(heard: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """Return (said, heard) of each stretch of words that was replaced."""
    a, b = [key(word) for word in heard], [key(word) for word in said]
    return [
        (" ".join(said[k:m]), " ".join(heard[i:j]))
        # autojunk would leave out frequent words of long texts, and find differences that are none.
        for what, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if what == "replace" and j - i <= _LONGEST and m - k <= _LONGEST
    ]
