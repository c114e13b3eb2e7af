"""Names that were nearly heard: "nebacan ezer" for Nebuchadnezzar. Pure.

Names come from a preacher's notes. A stretch of one to three words is taken for a name if both
sound alike: the same consonants, or all but one of a long name's, and most letters. A word that
the notes use is never one, and a short name must have been heard as a name: with a capital inside a
sentence. For what is heard right must not be spoilt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipeline.text.words import WORD

_MOST_WORDS = 3
_ALIKE = 0.6
"""Share of letters that both have in the same order (SequenceMatcher's ratio)."""
_LONG = 5
"""Consonants from which on one may be missing or another one."""
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
_INSIDE = re.compile(r"[^.!?\"“\s]\s+$")
"""What stands before a word that is not a sentence's first one."""
_TWICE = re.compile(r"(.)\1+")


def skeleton(text: str) -> str:
    """Return the consonants of a text as they sound, roughly: "Nebuchadnezzar" is "nbkdnsr"."""
    plain = unicodedata.normalize("NFKD", text.lower())
    letters = "".join(sign for sign in plain if sign.isalpha())
    # In their order: "sch" is one sound only as long as no "ch" in it was taken first.
    for spelled, sound in _SPELLINGS:
        letters = letters.replace(spelled, sound)
    letters = _SOFT.sub("s", letters).replace("c", "k")
    return _TWICE.sub(r"\1", _SILENT.sub("", letters))


@dataclass(frozen=True, slots=True)
class NearNames:
    """The names of a service, by their consonants, and the words that are none."""

    names: Mapping[str, tuple[str, str]]
    """By the name in small letters: the name and its skeleton."""
    words: Collection[str]
    """In small letters."""

    def found(self, text: str) -> dict[str, str]:
        """Return the stretches of a text that are nearly names, in small letters, with the name."""
        spans = [match.span() for match in WORD.finditer(text)]
        heard = [text[start:end].lower() for start, end in spans]
        capitals = [
            text[start].isupper() and _INSIDE.search(text[:start]) is not None for start, _ in spans
        ]
        found: list[tuple[float, int, int, str]] = []
        for first in range(len(heard)):
            for end in range(first + 1, min(first + _MOST_WORDS, len(heard)) + 1):
                as_name = any(capitals[first:end])
                alike, name = self._nearest(heard[first:end], as_name=as_name)
                if name:
                    found.append((alike, first, end, name))
        near: dict[str, str] = {}
        taken: set[int] = set()
        # The likeliest first: what it has taken no other stretch can have.
        for _, first, end, name in sorted(found, key=lambda each: (-each[0], each[1], each[2])):
            if taken.isdisjoint(range(first, end)):
                taken.update(range(first, end))
                near[" ".join(heard[first:end])] = name
        return near

    def _nearest(self, words: list[str], *, as_name: bool) -> tuple[float, str]:
        """Return the name that some words nearly are, and how nearly; empty: none, or exactly."""
        joined = "".join(words)
        is_none = all(word in self.words for word in words)
        if is_none or any(word in self.names for word in words) or _SMALL & {words[0], words[-1]}:
            return 0.0, ""
        sound = skeleton(joined)
        alike = [
            (_alike(joined, key), name)
            for key, (name, own) in self.names.items()
            if _sounds(sound, own) and (as_name or len(own) >= _PLAIN)
        ]
        best = max(alike, default=(0.0, ""))
        return best if best[0] >= _ALIKE else (0.0, "")


def near_names(names: Iterable[str], words: Collection[str]) -> NearNames:
    """Return the names to listen for, and the words that are not to be taken for one."""
    return NearNames({name.lower(): (name, skeleton(name)) for name in names}, words)


def _alike(one: str, other: str) -> float:
    # autojunk drops letters that are frequent; in a word of ten letters all of them count.
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _sounds(heard: str, name: str) -> bool:
    """Whether the consonants are the same, or one is missing, more or another in a long name."""
    if heard == name:
        return len(name) > 1
    if min(len(heard), len(name)) < _LONG - 1 or len(name) < _LONG:
        return False
    return _apart(heard, name) == 1


def _apart(one: str, other: str) -> int:
    """Return the edit distance, where it is 0 or 1; else 2."""
    if abs(len(one) - len(other)) > 1:
        return 2
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return abs(len(one) - len(other))
    rests = (one[start + 1 :], other[start + 1 :])
    shifted = (one[start:], other[start + 1 :]), (one[start + 1 :], other[start:])
    return 1 if rests[0] == rests[1] or any(a == b for a, b in shifted) else 2
