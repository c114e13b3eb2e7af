"""The 66 books of the Bible, their names in each language, and places in them. Pure.

A name marked with `*` is also an ordinary word or a person's name: it needs more evidence beside it
to count as a book. A name with `+` is an ordinary word in lower case only. A name that ends in "."
is an abbreviation. No name ever counts without a number. languages/CODE.toml has the names,
verses/counts.txt the chapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pipeline.core.language_words import WORDS
from pipeline.core.resources import bundled
from pipeline.text.words import plain

PSALMS = 19
_ALIKE = 0.85
"""Least similarity of a name and a recognized word, by `difflib`."""


# Sorted in the order of the Bible: `passages` goes through the verses of a chapter.
@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A place in the Bible."""

    book: int
    """1 Genesis to 66 Revelation."""
    chapter: int
    verse: int = 0
    """0: the whole chapter."""
    last: int = 0
    """The last verse of a range, 0 for a single verse."""
    until: tuple[int, int] | None = None
    """The last chapter and verse of a range that ends in a later chapter; `last` is then 0.
    The verse is 0 in a range of chapters.
    """

    @property
    def ending(self) -> str:
        """What print has after the dash: "8", "53:12"; "" for a single verse."""
        return ":".join(f"{n}" for n in self.until or (self.last,) if n)

    @property
    def is_chapters(self) -> bool:
        """Whether it is a range of chapters."""
        return self.until is not None and not self.verse


@dataclass(frozen=True, slots=True)
class Mention:
    """A reference and its position in a text."""

    reference: Reference
    start: int
    """In characters of the text."""
    end: int
    book_first: bool = True
    """Whether it has the order of print: the book, then its numbers."""


@dataclass(frozen=True, slots=True)
class BookName:
    """A way to say a book."""

    number: int
    """1 Genesis to 66 Revelation."""
    words: tuple[str, ...]
    """In the form of `tokens.plain`, without the number of "1 Samuel"."""
    ordinal: int = 0
    """The 1 of "1 Samuel", 0 if there is none."""
    is_common: bool = False
    """Whether it is also an ordinary word or a person's name."""
    is_word: bool = False
    """Whether that word is in lower case within a sentence: "acts", "numbers"."""
    is_short: bool = False
    """Whether it is an abbreviation, which a dot may follow."""


_BOOKS = {lang: words.books for lang, words in WORDS.items() if words.books}
_TABLES = {
    lang: [[name.strip() for name in book.split(",")] for book in books.names]
    for lang, books in _BOOKS.items()
}

LANGS = frozenset(
    lang for lang, words in WORDS.items() if words.books and words.numbers and words.references
)
"""The languages that references are read and written in."""

PRINTED: Mapping[str, tuple[str, ...]] = {
    lang: tuple(names[0].rstrip("*+") for names in table) for lang, table in _TABLES.items()
}
"""The printed names of the books in each language, in the order of the Bible."""

ORDINALS: Mapping[str, Mapping[str, int]] = {
    lang: {word: n for n, line in enumerate(books.ordinals, 1) for word in line.split()}
    for lang, books in _BOOKS.items()
}
"""The spoken words for the number of "1 Samuel"."""


def _names(lang: str) -> dict[str, tuple[BookName, ...]]:
    found: dict[str, list[BookName]] = {}
    for number, names in enumerate(_TABLES[lang], 1):
        for name in names:
            bare = name.rstrip("*+")
            words = tuple(plain(word) for word in bare.rstrip(".").split())
            ordinal = int(words[0]) if words[0].isdecimal() else 0
            words = words[1:] if ordinal else words
            made = BookName(
                number,
                words,
                ordinal,
                is_common=bare != name,
                is_word=name.endswith("+"),
                is_short=bare.endswith("."),
            )
            found.setdefault(words[0], []).append(made)
    # The longest first: "Song of Songs" before "Song".
    return {w: tuple(sorted(each, key=lambda n: -len(n.words))) for w, each in found.items()}


NAMES: Mapping[str, Mapping[str, tuple[BookName, ...]]] = {lang: _names(lang) for lang in _TABLES}
"""By language and first word."""


_LONG: Mapping[str, Mapping[str, BookName]] = {
    lang: {
        name.words[0]: name
        for names in NAMES[lang].values()
        for name in names
        if len(name.words) == 1 and len(name.words[0]) >= 6 and not name.is_common
    }
    for lang in _TABLES
}


def misspelled(word: str, ordinal: int, lang: str) -> BookName | None:
    """Return the book whose name looks like a word: "phillipians", "galatian".

    The result is marked as a common word, so it needs more evidence beside it.
    """
    if len(word) < 6:
        return None
    found = get_close_matches(word, _LONG[lang], 1, _ALIKE)
    name = _LONG[lang][found[0]] if found else None
    if name is None or bool(name.ordinal) != bool(ordinal):
        return None
    # Books of one name follow each other: 2 Samuel is next after 1 Samuel.
    number = name.number + (ordinal - name.ordinal)
    # There is no "third Samuel".
    has_such = any(each.number == number for each in NAMES[lang][name.words[0]])
    return replace(name, number=number, ordinal=ordinal, is_common=True) if has_such else None


def chapters(book: int) -> int:
    """Return how many chapters a book has."""
    return len(VERSES[book - 1])


def verses(book: int, chapter: int) -> int:
    """Return how many verses a chapter has, 0 if there is no such chapter."""
    return VERSES[book - 1][chapter - 1] if 1 <= chapter <= chapters(book) else 0


def _counts() -> tuple[tuple[int, ...], ...]:
    lines = bundled("verses", "counts.txt").read_text("utf-8").splitlines()
    return tuple(tuple(map(int, line.split())) for line in lines if not line.startswith("#"))


VERSES = _counts()
"""For book n (from 0), the number of verses of each chapter."""
