"""A place in the Bible, and where a text names it. Pure."""

from __future__ import annotations

from dataclasses import dataclass


# In the order of the Bible, in which `passages` goes through the verses of a chapter.
@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A place in the Bible."""

    book: int
    """1 Genesis to 66 Revelation."""
    chapter: int
    verse: int = 0
    """0: the whole chapter."""
    last: int = 0
    """The last verse of several, 0 for one."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A reference where it stands in a text."""

    reference: Reference
    start: int
    """In characters of the text."""
    end: int
    book_first: bool = True
    """Whether the book comes before the numbers, as it is printed."""
