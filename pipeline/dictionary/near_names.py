"""Names that were nearly heard: "nebacan ezer" for Nebuchadnezzar. Pure.

A stretch of one to three words is taken for a name if both sound alike: the same consonants, or all
but one of a long name's, and most letters. A short name must have been heard as a name: with a
capital inside a sentence. A word that the notes use is never one, an everyday word alone neither,
and several of them only where the recognizer was unsure. Names of the notes are looked for in all
that is said, those of the dictionary (the church's and the Bible's) only where it was unsure. For
what is heard right must not be spoilt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

from pipeline.core.types import Word
from pipeline.dictionary.rules import Rule, key
from pipeline.text.words import WORD

_MOST_WORDS = 3
_ALIKE = 0.6
"""Share of letters that both have in the same order (SequenceMatcher's ratio)."""
_ALIKE_STRICT = 0.7
"""The same for names that nobody has announced."""
_LONG = 5
"""A name of so many consonants may have one of them missing, added or changed."""
_PLAIN = 4
"""Consonants from which on words without a capital may be a name: few others have the same."""
_SPELLINGS = (
    *(("ph", "f"), ("ck", "k"), ("qu", "k"), ("sch", "s"), ("sh", "s"), ("ch", "k"), ("th", "t")),
    *(("gh", "g"), ("wh", "w"), ("x", "ks"), ("q", "k"), ("z", "s"), ("j", "g"), ("v", "f")),
)
_SOFT = re.compile(r"c(?=[eiy])")
_SILENT = re.compile(r"[aeiouyhw]")
_SMALL_WORDS = """
a an the this that these those of in on at to by for from with and or but as is was were are be been
it he she we they you i his her our their my your not no so do did has have had
"""
_SMALL = frozenset(_SMALL_WORDS.split())
"""No heard name begins or ends with these: what they say would be lost."""
_UNSURE = 0.5
"""Probability of a word below which the recognizer may have heard another one."""
_INSIDE = re.compile(r"[^.!?\"“\s]\s+$")
"""What stands before a word that is not a sentence's first one."""
_TWICE = re.compile(r"(.)\1+")


def skeleton(text: str) -> str:
    """Return the consonants of a text as they sound, roughly: "Nebuchadnezzar" is "nbkdnsr"."""
    return _TWICE.sub(r"\1", _SILENT.sub("", _sounded(text)))


@lru_cache(maxsize=2048)
def _sounded(text: str) -> str:
    """Return the letters of a text with one spelling for each sound."""
    plain = unicodedata.normalize("NFKD", text.lower())
    letters = "".join(sign for sign in plain if sign.isalpha())
    # In their order: "sch" is one sound only as long as no "ch" in it was taken first.
    for spelled, sound in _SPELLINGS:
        letters = letters.replace(spelled, sound)
    return _SOFT.sub("s", letters).replace("c", "k")


@dataclass(frozen=True, slots=True)
class NearNames:
    """The names of a service, by their consonants, and the words that are none."""

    names: Mapping[str, tuple[str, str]]
    """By the name in small letters: the name and its skeleton."""
    words: Collection[str]
    """In small letters."""
    only_unsure: bool = False
    """Whether they are listened for only where the recognizer was unsure."""
    is_strict: bool = False
    """Whether all consonants must be the same, and no everyday words may make up the name."""

    def found(
        self, text: str, unsure: Collection[int] = (), common: frozenset[str] = frozenset()
    ) -> dict[str, str]:
        """Return the stretches of a text that are nearly names, in small letters, with the name.

        `unsure`: the places, among the text's words, that the recognizer was unsure of.
        """
        spans = [match.span() for match in WORD.finditer(text)]
        # As the lexicon compares words, which looks up what is found here.
        heard = [key(text[start:end]) for start, end in spans]
        capitals = [
            text[start].isupper() and _INSIDE.search(text[:start]) is not None for start, _ in spans
        ]
        found: list[tuple[float, int, int, str]] = []
        for first in range(len(heard)):
            for end in range(first + 1, min(first + _MOST_WORDS, len(heard)) + 1):
                words, is_unsure = heard[first:end], any(at in unsure for at in range(first, end))
                is_everyday = all(_is_everyday(word, common) for word in words)
                if not is_unsure and (is_everyday or self.only_unsure):
                    continue
                # One everyday word is that word; several in a row may be a name in pieces.
                if is_everyday and (end - first == 1 or self.is_strict):
                    continue
                is_strict, as_name = is_everyday or self.is_strict, any(capitals[first:end])
                alike, name = self._nearest(words, as_name=as_name, is_strict=is_strict)
                if name:
                    found.append((alike, first, end, name))
        near: dict[str, str] = {}
        taken: set[int] = set()
        # The likeliest first: what it has taken no other stretch can have.
        for _, first, end, name in sorted(found, key=lambda each: (-each[0], each[1], each[2])):
            if taken.isdisjoint(range(first, end)):
                taken.update(range(first, end))
                # Without its ending the sentence would lose whose something is.
                ending = "'s" if heard[end - 1].endswith("'s") else ""
                near[" ".join(heard[first:end])] = f"{name}{ending}"
        return near

    def _nearest(self, words: list[str], *, as_name: bool, is_strict: bool) -> tuple[float, str]:
        """Return the name that some words nearly are, and how nearly; empty: none, or exactly."""
        is_none = all(word in self.words for word in words)
        bare = [word.removesuffix("'s") for word in words]
        # A name that was heard right does not swallow the words beside it.
        if is_none or any(word in self.names for word in bare) or _SMALL & {bare[0], bare[-1]}:
            return 0.0, ""
        joined = "".join([*words[:-1], bare[-1]])
        sound = skeleton(joined)
        alike = [
            (_alike(joined, low) if is_strict else _alike(_sounded(joined), _sounded(low)), name)
            for low, (name, own) in self.names.items()
            if (sound == own if is_strict else _sounds(sound, own))
            and ((as_name and not is_strict) or len(own) >= _PLAIN)
        ]
        best = max(alike, default=(0.0, ""))
        return best if best[0] >= (_ALIKE_STRICT if is_strict else _ALIKE) else (0.0, "")


def near_names(names: Iterable[str], words: Collection[str]) -> NearNames:
    """Return the names to listen for, and the words that are not to be taken for one."""
    # With straight apostrophes, as words are compared: notes from Word have curved ones.
    small = {name.lower().replace("’", "'"): name for name in names}
    return NearNames({low: (name, skeleton(name)) for low, name in small.items()}, words)


def _is_everyday(word: str, common: frozenset[str]) -> bool:
    return not common.isdisjoint({word, word.removesuffix("s"), word.removesuffix("'s")})


@lru_cache(maxsize=2)
def names_of(
    rules: tuple[Rule, ...], common: frozenset[str], own: str
) -> tuple[NearNames, NearNames]:
    """Return the names that rules write, word by word, to be heard where there is doubt.

    Those of the church's `own` file first, then the others. What is an everyday word with a
    capital, such as Spirit, is no name.
    """
    # Kept by the cache: the rules are the same from one final to the next.
    church = {word for rule in rules if rule.source == own for word in _names_in(rule, common)}
    others = {word for rule in rules for word in _names_in(rule, common)} - church
    return (
        replace(near_names(sorted(church), ()), only_unsure=True),
        replace(near_names(sorted(others), ()), only_unsure=True, is_strict=True),
    )


def _names_in(rule: Rule, common: frozenset[str]) -> list[str]:
    return [
        word
        for word in rule.write.split()
        if word.isalpha() and word.istitle() and len(word) > 2 and word.lower() not in common
    ]


def unsure_words(text: str, heard: Sequence[Word]) -> frozenset[int]:
    """Return the places of those words of a text that a recognizer was unsure of.

    None where its words are not those of the text.
    """
    # A recognizer's word may hold several of ours, such as both sides of a hyphen.
    told = [(word, each.probability) for each in heard for word in WORD.findall(each.text)]
    if [word for word, _ in told] != WORD.findall(text):
        return frozenset()
    return frozenset(at for at, (_, probability) in enumerate(told) if probability < _UNSURE)


def _alike(one: str, other: str) -> float:
    # autojunk drops letters that are frequent; in a word of ten letters all of them count.
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _sounds(heard: str, name: str) -> bool:
    """Whether the consonants are the same, or one is missing, more or another in a long name."""
    if heard == name:
        # A single consonant is that of too many words.
        return len(name) > 1
    if min(len(heard), len(name)) < _LONG - 1 or len(name) < _LONG:
        return False
    return _apart(heard, name) == 1


def _apart(one: str, other: str) -> int:
    """Return the edit distance, where it is 0 or 1; else 2."""
    if abs(len(one) - len(other)) > 1:
        return 2
    # Behind the first difference the rests are the same, or one of them is moved by a letter.
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return abs(len(one) - len(other))
    rests = (one[start + 1 :], other[start + 1 :])
    shifted = (one[start:], other[start + 1 :]), (one[start + 1 :], other[start:])
    return 1 if rests[0] == rests[1] or any(a == b for a, b in shifted) else 2
