"""Words in every script: the one definition with which all parts compare texts. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

Span = tuple[int, int]
"""Start and end (exclusive) of a range of characters."""

HAN = "\u3400-\u9fff\uf900-\ufaff"
"""Chinese signs, as a regular expression's class."""
UNSPACED = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff{HAN}"
"""Thai, Lao, Burmese, Khmer, kana, Han, as a regular expression's class. They are written without
spaces, so each letter counts as a word.
"""
MARKS = "".join(
    sign for sign in map(chr, range(0x0300, 0x3100)) if unicodedata.category(sign)[0] == "M"
)
"""Accents, vowels and tones above, below and behind a letter: they belong to it."""

# A character of these is a syllable or a word. The factors make translations of the pages' own
# texts as long as the English ones; the factor of kana comes from a verse.
_LETTERS_A_SIGN = (
    (re.compile(f"[{HAN}]"), 4.0),
    (re.compile("[\u3040-\u30ff]"), 1.5),
    (re.compile("[\uac00-\ud7a3]"), 2.5),
    # Hebrew and Arabic, whose short vowels are not written.
    (re.compile("[\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3]"), 1.25),
)
_UNSPACED_LETTER = re.compile(f"(?=[{UNSPACED}])[^\\W_]")
_LETTERS = f"(?:(?![{UNSPACED}])[^\\W_][{MARKS}]*)+"
# An apostrophe inside belongs to the word (don't, l'Église); hyphens separate words.
WORD = re.compile(f"(?=[{UNSPACED}])[^\\W_][{MARKS}]*|{_LETTERS}(?:['’]{_LETTERS})*")
"""Letters and digits, with apostrophes inside."""
SHOWN_WORD = re.compile(f"[{UNSPACED}][{MARKS}]*|[^\\s{UNSPACED}]+")
"""A word with its punctuation; a letter in scripts without spaces."""
SENTENCES_TOUCH = f"\u3000-\u30ff{HAN}\uff00-\uff65"
"""Chinese and Japanese, with their punctuation, as a class. Thai has a space between sentences."""
_GAP = re.compile(
    f"(?<=[{SENTENCES_TOUCH}]) (?=[{SENTENCES_TOUCH}])"
    "|(?<=[。！？，、；：」』）】》]) |(?<=[。！？][”’]) "
)


ELIDED = r"(?:[cdjlmnst]|(?:jusqu|lorsqu|puisqu|quoiqu|qu))'"
"""French elided words, joined to a word that begins with a vowel: "l'alliance", "qu'elle"."""

_ELISION = re.compile(ELIDED.replace("'", "['’]") + f"(?={_LETTERS})", re.IGNORECASE)


def words(text: str) -> list[str]:
    """Return the words of a text in the form for comparison: no case, no punctuation, straight
    apostrophes.
    """
    # Some editors write an accent as a separate character; recognizers never do.
    whole = unicodedata.normalize("NFC", text.casefold())
    return [word.replace("’", "'") for word in WORD.findall(whole)]


def closed_up(text: str) -> str:
    """Return a text without spaces between Chinese or Japanese signs, or after their marks."""
    return _GAP.sub("", text)


def word_set(line: str) -> frozenset[str]:
    """Return the words of a line that are separated by spaces, as in tables of words."""
    return frozenset(line.split())


def plain(word: str) -> str:
    """Return a word in the form for comparison: small letters, no accents except ñ."""
    # NFD separates letters and accents. The tilde stays: año and ano are different words.
    separated = unicodedata.normalize("NFD", word.casefold().replace("’", "'"))
    bare = "".join(c for c in separated if c == "\u0303" or not unicodedata.combining(c))
    # Recombined, since ñ is one character in tables of words.
    return unicodedata.normalize("NFC", bare)


def elided(text: str, at: int = 0) -> int:
    """Return the length of the French elided word that begins the word at `at`.

    2 for "l'alliance", 0 for most words.
    """
    found = _ELISION.match(text, at)
    return found.end() - at if found else 0


def behind(text: str, beginning: str) -> int | None:
    """Return how many characters of `text` the words of `beginning` and the marks after them take.

    None if it does not begin with these words, or the last of them is a part of another word.
    """
    count = len(words(beginning))
    if words(text)[:count] != words(beginning):
        return None
    ends = [found.end() for found in WORD.finditer(text)]
    # Include the marks after the last word, up to a space or the next word.
    at = ends[count - 1] if count else 0
    while at < len(text) and not text[at].isspace() and not WORD.match(text, at):
        at += 1
    # The last word has become another one: "twenty" became "twenty-five", "2" became "2,000".
    is_other = (
        count and at < len(text) and not (text[at].isspace() or is_unspaced(text[at - 1 : at + 1]))
    )
    return None if is_other else at


def is_unspaced(text: str) -> bool:
    """Whether a text contains a letter of a script that is written without spaces."""
    return _UNSPACED_LETTER.search(text) is not None


def length(text: str) -> float:
    """Return the length of a text in letters of an alphabet, whatever its script.

    "神は愛です" is about as long as "God is love".
    """
    more = sum((letters - 1) * len(sign.findall(text)) for sign, letters in _LETTERS_A_SIGN)
    return len(text) + more


def begins_sentence(text: str, start: int) -> bool:
    """Whether a sentence begins at `start`, whatever quotation marks open there."""
    before = text[:start].rstrip(" \"“«'¡¿(")
    return not before or before[-1] in ".!?…:"


def roman(numeral: str) -> int:
    """Return the value of a Roman numeral below 40."""
    values = [{"I": 1, "V": 5, "X": 10}[sign] for sign in numeral]
    # A smaller sign before a greater one is subtracted: XIV.
    return sum(
        -one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True)
    )


def is_free(span: Span, taken: Iterable[Span]) -> bool:
    """Whether a span overlaps none of the taken spans."""
    return all(span[1] <= start or span[0] >= end for start, end in taken)
