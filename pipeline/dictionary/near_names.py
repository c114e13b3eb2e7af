"""Names that were nearly heard: "nebacan ezer" for Nebuchadnezzar. Pure.

One to three words in a row match a name if both sound alike: they share the same consonants, or
all but one for a long name, and most letters. A short name must have been recognized as a name:
with a capital inside a sentence. A word of the notes never matches, nor does a single everyday
word. Several everyday words match only where the recognizer was unsure. Names of the notes are
searched for in all speech, names of the dictionary (the church's and the Bible's) only where the
recognizer was unsure: correctly recognized words must not be changed.

A word that does not exist and has a very low probability is a name that the recognizer does not
know. It becomes the name that sounds most alike, by its `outline` (docs/decisions/067).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from pipeline.core.types import Word
from pipeline.dictionary.rules import Rule, key
from pipeline.text.commit_policy import common_beginning
from pipeline.text.words import WORD

_MOST_WORDS = 3
_ALIKE = 0.6
"""Smallest share of letters that both have in the same order (SequenceMatcher's ratio)."""
_ALIKE_STRICT = 0.7
"""The same for a strict match: of everyday words, or with a name that is not the church's own."""
_LONG = 5
"""From this many consonants on, one of them may be missing, added or changed."""
_PLAIN = 4
"""From this many consonants on, words without a capital may match: few others share them."""
_SPELLINGS = (
    *(("pph", "f"), ("ph", "f"), ("ck", "k"), ("qu", "k"), ("sch", "s"), ("sh", "s"), ("ch", "k")),
    *(("th", "t"), ("gh", "g"), ("wh", "w"), ("x", "ks"), ("q", "k"), ("z", "s"), ("j", "g")),
    ("v", "f"),
)
_SOFT = re.compile(r"c(?=[eiy])")
_SILENT = re.compile(r"[aeiouyhw]")
_SMALL_WORDS = """
a an the this that these those of in on at to by for from with and or but as is was were are be been
it he she we they you i his her our their my your not no so do did has have had
"""
_SMALL = frozenset(_SMALL_WORDS.split())
"""No match begins or ends with these words: their meaning would be lost."""
_SYLLABLE = 2
"""A longer small word is no part of a name: "saw the throng" is no Sterling."""
_UNSURE = 0.5
"""Below this probability of a word the recognizer was unsure of it."""
GARBLED = 0.3
"""Below this probability a word that does not exist is a name that the recognizer does not know."""
_MOST_GARBLED = 2
_ALIKE_GARBLED, _AWAY = 0.5, 0.1
"""Smallest share of letters in the same order, and what each other sound takes from it."""
_OUTLINE = 4
"""Shortest outline of a garbled name."""
_OUTLINE_LONG = 6
"""From this length on, one sound of it may be missing, added or changed."""
_INSIDE = re.compile(r"[^.!?\"“\s]\s+$")
"""Text before a word that is not the first of a sentence."""
_VOWELS = re.compile(r"[aeiou]+")
_SILENT_END = re.compile(r"(?<=[a-z]{2})e$")
_MUTE = re.compile(r"[hwy]")
_ALIKE_SOUNDS = str.maketrans("bdgmvz", "ptknfs")
_TWICE = re.compile(r"(.)\1+")
_ENDINGS = ("s", "es", "e")
"""With or without one of these a word is another form of a name: "Philistines", "Samaritaine"."""


def skeleton(text: str) -> str:
    """Return the consonants of a text, roughly by sound: "Nebuchadnezzar" is "nbkdnsr"."""
    return _TWICE.sub(r"\1", _SILENT.sub("", _sounded(text)))


@lru_cache(maxsize=4096)
def outline(text: str) -> str:
    """Return the consonants of a text, roughly, with "a" for each vowel between them.

    Consonants that are often confused are one: "Jehoshaphat" and "Jehosabat" are "kasapat".
    """
    sound = _MUTE.sub("", _SILENT_END.sub("", _sounded(text))).translate(_ALIKE_SOUNDS)
    return _TWICE.sub(r"\1", _VOWELS.sub("a", sound).replace("f", "p"))


@lru_cache(maxsize=4096)
def _consonants(text: str) -> str:
    # An h between two vowels is heard: Nehemiah is no Naomi.
    heard = _sounded(text).replace("y", "i").replace("w", "").strip("h")
    return _TWICE.sub(r"\1", _VOWELS.sub("", heard))


@lru_cache(maxsize=4096)
def _audible(text: str) -> str:
    return _sounded(text).replace("y", "i").replace("h", "").replace("w", "")


@lru_cache(maxsize=2048)
def _sounded(text: str) -> str:
    """Return the letters of a text with one spelling for each sound."""
    plain = unicodedata.normalize("NFKD", text.lower())
    letters = "".join(sign for sign in plain if sign.isalpha())
    # In this order: "sch" must be replaced before "ch".
    for spelled, sound in _SPELLINGS:
        letters = letters.replace(spelled, sound)
    return _SOFT.sub("s", letters).replace("c", "k")


@dataclass(frozen=True, slots=True)
class NearNames:
    """Names to match by their consonants, and words that never match."""

    names: Mapping[str, tuple[str, str]]
    """From the name in lower case to the name and its skeleton."""
    words: Collection[str]
    """In lower case."""
    only_unsure: bool = False
    """Whether names match only where the recognizer was unsure."""
    is_strict: bool = False
    """Whether all consonants must be equal, and everyday words alone never match."""

    def found(
        self,
        text: str,
        unsure: Collection[int] = (),
        common: frozenset[str] = frozenset(),
        known: Collection[str] = (),
    ) -> dict[str, str]:
        """Return the phrases of a text that nearly match a name, in lower case, with the name.

        `unsure`: the indexes of the text's words that the recognizer was unsure of. Of the others a
        `known` word is itself: "Assyria" is not the Syria of the notes.
        """
        spans = [match.span() for match in WORD.finditer(text)]
        # In the lexicon's form, because the lexicon looks up the result.
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
                if not is_unsure and end - first == 1 and words[0].removesuffix("'s") in known:
                    continue
                # A single everyday word is that word; several in a row may be a split name.
                if is_everyday and (end - first == 1 or self.is_strict):
                    continue
                as_name = any(capitals[first:end])
                # A rare word is more often itself: "the priestess" is no Preston.
                is_word = self.only_unsure and end - first == 1 and not as_name
                is_strict = is_everyday or is_word or self.is_strict
                alike, name = self._nearest(words, as_name=as_name, is_strict=is_strict)
                if name:
                    found.append((alike, first, end, name))
        near: dict[str, str] = {}
        taken: set[int] = set()
        # The likeliest first: later matches may not overlap it.
        for _, first, end, name in sorted(found, key=lambda each: (-each[0], each[1], each[2])):
            if taken.isdisjoint(range(first, end)):
                taken.update(range(first, end))
                # Keep the possessive ending, which carries meaning.
                ending = "'s" if heard[end - 1].endswith("'s") else ""
                near[" ".join(heard[first:end])] = f"{name}{ending}"
        return near

    def sounding(
        self, text: str, garbled: Collection[int], known: Collection[str]
    ) -> dict[str, str]:
        """Return the words of a text that do not exist, one or two in a row, with the name that
        sounds alike.

        `garbled`: the indexes of words below `GARBLED`, `known`: the words that exist.
        """
        heard = [key(match.group()) for match in WORD.finditer(text)]
        near: dict[str, str] = {}
        at = 0
        while at < len(heard):
            end = at
            while end in garbled and end < len(heard):
                end += 1
            words = heard[at:end]
            bare = {word.removesuffix("'s") for word in words}
            # More are no name. Where one of two is replaced, the other one was a part of it.
            if (
                0 < len(words) <= _MOST_GARBLED
                and any(word not in known for word in bare)
                and not any(map(self._is_form, bare))
            ):
                joined, possessive = "".join(words), words[-1].endswith("'s")
                # "Seela's" may be Silas.
                ways = [(joined, "")] + [(joined.removesuffix("'s"), "'s")] * possessive
                _, name, ending = max((*self._sounds_like(word), ending) for word, ending in ways)
                if name:
                    near[" ".join(words)] = f"{name}{ending}"
            at = max(end, at + 1)
        return near

    def _sounds_like(self, word: str) -> tuple[float, str]:
        """Return the similarity and the name of the likest name; 0.0 and "" if none is alike."""
        sound, letters = outline(word), _audible(word)
        best, name = 0.0, ""
        for low, (written, _) in self.names.items():
            own = outline(low)
            away = Levenshtein.distance(sound, own, score_cutoff=1)
            if len(own) < _OUTLINE or away > (len(own) >= _OUTLINE_LONG):
                continue
            # Sounds that `outline` takes for one: in a short name they are different.
            other = Levenshtein.distance(_consonants(word), _consonants(low))
            alike = _alike(letters, _audible(low)) - _AWAY * (away + other)
            if other <= away + (len(own) > _OUTLINE) and alike > max(best, _ALIKE_GARBLED):
                best, name = alike, written
        return best, name

    def _nearest(self, words: list[str], *, as_name: bool, is_strict: bool) -> tuple[float, str]:
        """Return the similarity and the name of the nearest match; 0.0 and "" if none."""
        is_none = all(word in self.words for word in words)
        bare = [word.removesuffix("'s") for word in words]
        # Within a split name a recognizer writes short words only: "bed a nego".
        is_phrase = _SMALL & {bare[0], bare[-1], *(w for w in bare if len(w) > _SYLLABLE)}
        # A correctly recognized name must not absorb its neighbours.
        if is_none or is_phrase or any(map(self._is_form, bare)):
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

    def _is_form(self, word: str) -> bool:
        """Whether a word is a name, its plural or its feminine, or a name is that of the word."""
        forms = {word, *(word + end for end in _ENDINGS), *map(word.removesuffix, _ENDINGS)}
        return not self.names.keys().isdisjoint(forms)


def near_names(names: Iterable[str], words: Collection[str]) -> NearNames:
    """Return the names to match, with the words that never match."""
    # With straight apostrophes, as in comparisons: notes from Word have curved ones.
    small = {name.lower().replace("’", "'"): name for name in names}
    return NearNames({low: (name, skeleton(name)) for low, name in small.items()}, words)


def _is_everyday(word: str, common: frozenset[str]) -> bool:
    return not common.isdisjoint({word, word.removesuffix("s"), word.removesuffix("'s")})


@lru_cache(maxsize=2)
def names_of(
    rules: tuple[Rule, ...], common: frozenset[str], own: str
) -> tuple[NearNames, NearNames]:
    """Return the names in the rules' `write`, word by word, to match where there is doubt.

    Those of the church's `own` file come first, then the others. An everyday word with a
    capital, such as Spirit, is no name.
    """
    # Cached: the rules mostly stay the same between finals.
    church = {word for rule in rules if rule.source == own for word in _names_in(rule, common)}
    others = {word for rule in rules for word in _names_in(rule, common)} - church
    # "Sarah" in the Bible is no "Zara" of the church.
    known = {word.lower() for word in others}
    return (
        replace(near_names(sorted(church), known), only_unsure=True),
        replace(near_names(sorted(others), ()), only_unsure=True, is_strict=True),
    )


def _names_in(rule: Rule, common: frozenset[str]) -> list[str]:
    return [
        word
        for word in rule.write.split()
        if word.isalpha() and word.istitle() and len(word) > 2 and word.lower() not in common
    ]


def unsure_words(text: str, heard: Sequence[Word], below: float = _UNSURE) -> frozenset[int]:
    """Return the indexes of the words of a text whose probability is lower.

    None of them if its words do not match the text.
    """
    # One recognizer word may hold several of ours, such as both sides of a hyphen.
    rated = [(word, each.probability) for each in heard for word in WORD.findall(each.text)]
    if [word for word, _ in rated] != WORD.findall(text):
        return frozenset()
    return frozenset(at for at, (_, probability) in enumerate(rated) if probability < below)


def _alike(one: str, other: str) -> float:
    # autojunk drops frequent letters, but in a short word all letters count.
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _sounds(heard: str, name: str) -> bool:
    """Whether the consonants are equal or, in a long name, one is missing, added or changed."""
    if heard == name:
        # Too many words share a single consonant.
        return len(name) > 1
    if len(name) < _LONG or abs(len(heard) - len(name)) > 1:
        return False
    # After the first difference the rests are equal, or one is shifted by a letter.
    at = common_beginning(heard, name)
    one, other = heard[at:], name[at:]
    return one[1:] == other[1:] or one[1:] == other or one == other[1:]
