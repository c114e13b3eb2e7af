"""How much of a sentence its translation covers: an omitted or confused word is a serious mistake.

The usual translations of each word come from the sentences that the starters learn from
(training/data/lexicon.py). Words are compared without their inflection.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from statistics import fmean

from pipeline.core.resources import bundled
from pipeline.text.words import plain

_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = ("ings", "ing", "edly", "ed", "es", "s", "ly")
_STEM = 5
_SHORTEST = 3
_WORST = 2
_LEAST = 0.02
"""A word without any of its usual translations still counts as covered this much."""


def coverage(source: str, lang: str, target: str, target_lang: str) -> float | None:
    """Return the logarithm of the share of usual translations found, mean of the two worst words.

    0 is the best, and -3.9 the worst. None if the lexicon has no such pair of languages or none of
    these words.
    """
    found = set(target_stems(target))
    shares = []
    lexicon = lexicon_of(lang, target_lang)
    for at, word in enumerate(_WORD.findall(source)):
        is_name = at and word[0].isupper()
        if is_name or len(word) < _SHORTEST or (usual := lexicon.get(source_stem(word))) is None:
            continue
        share = sum(weight for stem, weight in usual.items() if stem in found)
        shares.append(math.log(max(_LEAST, share / sum(usual.values()))))
    return fmean(sorted(shares)[:_WORST]) if shares else None


@functools.cache
def lexicon_of(lang: str, target_lang: str) -> Mapping[str, Mapping[str, int]]:
    """Return the stems of a language, each with its translations' stems and their shares (1 to 9).

    Empty if the program has no lexicon of these languages.
    """
    file = bundled("models", "doubt", f"lexicon_{lang}_{target_lang}.txt")
    if not file.exists():
        return {}
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {word: {each[:-1]: int(each[-1]) for each in usual} for word, *usual in lines}


def source_stem(word: str) -> str:
    """Return an English word without the usual endings; irregular forms stay different."""
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    # "stopped" and "stop", "baked" and "bake", "happily" and "happy"
    if len(word) > _SHORTEST and word[-1] == word[-2]:
        word = word[:-1]
    return word.rstrip("ey") if len(word) > _SHORTEST + 1 else word


def target_stems(text: str) -> list[str]:
    """Return the first letters of each word, which inflection seldom changes, without accents."""
    return [plain(word)[:_STEM] for word in _WORD.findall(text)]


def source_stems(text: str) -> list[str]:
    """Return the stem of each word of an English text."""
    return [source_stem(word) for word in _WORD.findall(text)]
