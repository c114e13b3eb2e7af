"""Whether a text says what it has to: conditions of words, in the form of sentences.toml. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_NUMBER = r"\d+(?:[.,:]\d+)*"
_WORDS = re.compile(rf"{_NUMBER}|[a-zñ]+")
_PATTERNS = re.compile(rf"{_NUMBER}|[a-zñ]+\*?")
_ALIKE = str.maketrans({"œ": "oe", "æ": "ae"})


def plain(text: str) -> str:
    """Return a text in small letters without accents; ñ stays, which is a letter of its own."""
    parts = unicodedata.normalize("NFD", text.lower().translate(_ALIKE))
    parts = parts.replace("n\N{COMBINING TILDE}", "ñ")
    return "".join(each for each in parts if not unicodedata.combining(each))


def words(text: str) -> list[str]:
    """Return the words that conditions are compared with; numbers keep an inner `.`, `,`, `:`."""
    return _WORDS.findall(plain(text))


def patterns(phrase: str) -> list[str]:
    """Return the words of one alternative; one that ends in `*` stands for any ending."""
    return _PATTERNS.findall(plain(phrase))


def is_met(condition: str, said: Sequence[str]) -> bool:
    """Whether the words have one of the condition's alternatives, its words side by side."""
    return any(_is_there(patterns(phrase), said) for phrase in condition.split("|"))


def _is_there(phrase: Sequence[str], said: Sequence[str]) -> bool:
    starts = range(len(said) - len(phrase) + 1) if phrase else range(0)
    return any(all(map(_fits, phrase, said[start:])) for start in starts)


def _fits(pattern: str, word: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern
