"""Find the place in a translation of a reference that came out wrong: "Marcos 8:222". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from pipeline.church.books import NAMES, PRINTED
from pipeline.church.mention import Reference
from pipeline.church.reference_reader import Reader
from pipeline.church.tokens import Tokens
from pipeline.text.words import plain, word_set

_NUMBERS = re.compile(r"[\s,]*\d+(?:[:.,\-–]\d+)*(?![\w%])")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\s+$")
_SMALL = word_set(
    "el la los las en a al de del y e lean leemos the in to of and read "
    "le les l' du des d' dans au aux et lisez lisons"
)
"""Words behind which a name is missing. Any other word before a bare "3:16" may be the name."""
_ALIKE = 0.6


def end_of_numbers(text: str, end: int) -> int:
    """Return the end of the numbers that still belong to a reference put together wrongly."""
    more = _NUMBERS.match(text, end)
    return more.end() if more else end


def find_slot(text: str, reference: Reference, langs: tuple[str, str]) -> tuple[int, int] | None:
    """Return the one stretch of a translation that stands for a reference, None without certainty.

    It is the book's name, in either language and with whatever numbers follow; or else the bare
    "3:16", with a word before it that looks like the name.
    """
    # As a set: a name that both languages have is found twice in one place.
    names = set(_named(text, reference.book, langs))
    if len(names) == 1:
        ((start, end),) = names
        return start, end_of_numbers(text, end)
    return None if names or not reference.verse else _bare(text, reference, langs)


def _named(text: str, book: int, langs: tuple[str, str]) -> Iterator[tuple[int, int]]:
    for lang in langs:
        tokens = Tokens(text)
        for name, first, end in Reader(tokens, lang, strict=False).books():
            if name.number == book:
                yield tokens.spans[first][0], tokens.spans[end - 1][1]


def _bare(text: str, reference: Reference, langs: tuple[str, str]) -> tuple[int, int] | None:
    place = re.compile(
        rf"(?<![\d:.,]){reference.chapter}\s*:\s*{reference.verse}(?:-{reference.last})?(?![\d:%])"
    )
    matches = list(place.finditer(text))
    # Of two the wrong one would be overwritten half of the time.
    if len(matches) != 1:
        return None
    start, end = matches[0].span()
    before = _WORD_BEFORE.search(text[:start])
    if before is None:
        return None if text[:start].strip() else (start, end)
    word = plain(before.group(1))
    if word in _SMALL:
        return start, end
    return (before.start(), end) if _is_like(word, reference.book, langs) else None


def _is_like(word: str, book: int, langs: tuple[str, str]) -> bool:
    """Whether a word looks like a book's name in either language: "Zephanías"."""
    if any(word in NAMES[lang] for lang in langs):
        return False  # it is another book
    # Without the number of "1 Samuel": only the name can be misspelled.
    names = (plain(PRINTED[lang][book - 1]).split()[-1] for lang in langs)
    return any(SequenceMatcher(None, word, name).ratio() >= _ALIKE for name in names)
