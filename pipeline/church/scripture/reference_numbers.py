"""Find the numbers of a reference, and the chapter and verse that they mean. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipeline.church.scripture.books import PRINTED, PSALMS, Reference, chapters, verses
from pipeline.church.scripture.number_words import Number, read
from pipeline.church.scripture.tokens import Tokens
from pipeline.core.language_words import ReferenceWords
from pipeline.text.words import plain

_STOP = re.compile(r"\s*[.,;:!?…)\]\"”’»—–]")
TIME = re.compile(r"\s*[ap]\.?\s?m\b", re.IGNORECASE)
DASH = re.compile(r"\s*[-–—‐‑]\s*")
_END = re.compile(r"\s*[.;!?]")
_HALT = re.compile(r"[.,]?\s+")
LIGHT = re.compile(r"\s+|\s*,\s*")  # what separates book, chapter and verse in speech


@dataclass(frozen=True, slots=True)
class Place:
    """Chapter and verse, and the token after them."""

    chapter: int
    verse: int
    end: int
    is_explicit: bool
    """Whether "chapter", "verse" or a colon shows what the numbers are."""


@dataclass(frozen=True, slots=True)
class Found:
    """A reference, its first token, the token after it, and whether the book comes first."""

    reference: Reference
    first: int
    end: int
    book_first: bool


def combined(run: list[Number]) -> list[int]:
    """Return what numbers in a row may mean as one number: [1, 19] is 119, [1, -5] is 105."""
    values = [number.value for number in run]
    if len(values) == 1 and values[0] > 0:
        return values
    if len(values) == 2 and 0 < values[0] < 10 and (10 <= values[1] < 100 or -10 < values[1] < 0):
        return [values[0] * 100 + abs(values[1])]
    return []


def resolved(book: int, run: list[Number]) -> Place | None:
    """Return the chapter and verse that a run of numbers means.

    Of several valid readings, the one that uses more of the numbers wins; then the plain one.
    """
    # Psalms has 150 chapters: a greater number can only be chapter and verse together.
    if len(run) == 1 or abs(run[0].value) > 150:
        return alone(book, run[0])
    best: Place | None = None
    for used in (1, 2):
        for chapter in combined(run[:used]):
            count = verses(book, chapter)
            for more in (1, 2):
                for verse in combined(run[used : used + more]):
                    # A slice past the end is shorter: the same numbers were tried already.
                    if 1 <= verse <= count and len(run) >= used + more:
                        end = run[used + more - 1].end
                        # Strictly longer: if two end at the same token, the plain one stays.
                        if best is None or end > best.end:
                            best = Place(chapter, verse, end, is_explicit=False)
    if best is None:
        both = [c for c in combined(run[:2]) if verses(book, c)]
        if both:
            return Place(both[0], 0, run[1].end, is_explicit=False)
        return None
    return best


def alone(book: int, number: Number) -> Place | None:
    """Return what a single number means: a chapter, the verse of a short book, or "316"."""
    value = number.value
    if chapters(book) == 1 and 1 <= value <= verses(book, 1):
        return Place(1, value, number.end, is_explicit=False)
    if verses(book, value):
        return Place(value, 0, number.end, is_explicit=False)
    # "Acts 29" means the time after the book.
    digits = str(value) if value > chapters(book) + 1 and value >= 10 else ""
    # "316" is 3:16, "58" is 5:8, "238" is 2:38 as people say it ("two thirty-eight"). Other ways to
    # split the digits count only if exactly one is valid.
    splits = [(int(digits[:k]), digits[k:]) for k in range(1, len(digits))]
    fits = [(c, int(v)) for c, v in splits if v[0] != "0" and 1 <= int(v) <= verses(book, c)]
    fits = [fit for fit in fits if fit[1] >= 10 and len(digits) == 3 + (fit[0] >= 10)] or fits
    return Place(*fits[0], number.end, is_explicit=False) if len(fits) == 1 else None


class TokenReader:
    """Answers questions about the tokens of one text, of which there may be too few."""

    def __init__(self, tokens: Tokens, lang: str, words: ReferenceWords) -> None:
        self._tokens = tokens
        self._lang = lang
        self._words = words

    def _number(self, at: int) -> Number | None:
        at += self._word(at) in self._words.nth
        return read(self._tokens, at, self._lang) if at < len(self._tokens) else None

    def _word(self, at: int) -> str:
        return self._tokens.word(at)

    def _is_plural(self, at: int) -> bool:
        return self._word(at) in self._words.verse and self._word(at).endswith(("s", "vv"))

    def _is_light(self, at: int) -> bool:
        """Whether at most a comma follows a token."""
        return 0 <= at < len(self._tokens) and LIGHT.fullmatch(self._tokens.gap(at)) is not None

    def _is_spaced(self, at: int) -> bool:
        return at < len(self._tokens) and self._tokens.gap(at).isspace()

    def _is_one(self, first: int, end: int) -> bool:
        return all(self._is_spaced(at) for at in range(first, end - 1))

    def _past(self, at: int, skipped: frozenset[str]) -> int:
        """Return the first token from `at` on that is none of these words."""
        while self._word(at) in skipped:
            at += 1
        return at

    def _is_over(self, at: int) -> bool:
        """Whether the text from a token on just follows a reference, and does not count things."""
        rest = self._tokens.gap(at - 1)
        is_end = at == len(self._tokens) or _STOP.match(rest) is not None
        return is_end or self._word(at) in self._words.follow

    def _is_count(self, end: int) -> bool:
        """Whether the numbers before a token count something: "5 pm", "3 %", "24 people"."""
        behind = self._word(end) if self._is_spaced(end - 1) else ""
        is_time = TIME.match(self._tokens.text, self._tokens.spans[end - 1][1])
        is_part = self._tokens.gap(end - 1).startswith(("%", ":"))
        return behind in self._words.counted or is_time is not None or is_part

    def _is_plural_name(self, at: int) -> bool:
        return self._word(at) == f"{plain(PRINTED[self._lang][PSALMS - 1])}s"

    def _is_several(self, end: int) -> bool:
        """Whether "chapters" or "Psalms" stands shortly before a token, and no comma between."""
        for at in range(end - 1, max(-1, end - 7), -1):
            is_plural = self._word(at) in self._words.chapter and self._word(at).endswith("s")
            if is_plural or self._is_plural_name(at):
                return True
            if at and self._tokens.gap(at - 1).strip(" -"):
                return False
        return False

    def _verse(self, at: int) -> Number | None:
        """Return a verse that has the word: "verse 16", ", and the twenty-eighth verse"."""
        words = self._words
        if self._word(at) in words.like_verse and _HALT.fullmatch(self._tokens.gap(at - 1)):
            number = self._number(at + 1)
            is_end = number and (
                number.end == len(self._tokens) or _END.match(self._tokens.gap(number.end - 1))
            )
            return number if is_end else None
        if at >= len(self._tokens) or not self._is_light(at - 1):
            return None
        begins = at
        while begins < at + 3 and self._word(begins) in words.begins:
            begins += 1
        if self._word(begins) in words.verse:
            return self._with_zero(self._number(begins + 1))
        # "Chapter 8 and verse 28".
        at += self._word(at) == words.both
        if self._word(at) in words.verse:
            return self._with_zero(self._number(at + 1))
        number = self._number(at + (self._word(at) in words.articles))
        if number and number.ordinal and self._word(number.end) in words.verse:
            return Number(number.value, number.end + 1)
        return None

    def _with_zero(self, number: Number | None) -> Number | None:
        """Return 105 for "one oh five", which has a verse in Psalm 119 only."""
        if number is None or self._word(number.end) not in self._words.zero:
            return number
        # "Verse 1. Oh, two things": a sign between them ends the number.
        is_one = self._is_spaced(number.end - 1) and self._is_spaced(number.end)
        unit = self._number(number.end + 1) if is_one else None
        value = combined([number, replace(unit, value=-unit.value)]) if unit else []
        return Number(value[0], unit.end) if unit and value else number

    def _last(self, verse: int, end: int, *, is_plural: bool = False) -> tuple[int, int]:
        """Return the last verse and where it ends; 0 and `end` if there is none.

        `is_plural`: several verses are meant, even without the word "verses" before them.
        """
        is_plural = is_plural or any(self._is_plural(at) for at in range(max(0, end - 3), end))
        if end >= len(self._tokens):
            return 0, end
        words, at = self._words, end
        is_dash = DASH.fullmatch(self._tokens.gap(end - 1)) is not None
        if not is_dash:
            if not self._is_light(end - 1):
                return 0, end
            if self._word(at) not in words.until and self._word(at) != words.both:
                return 0, end
            at += 1
            at += self._word(at) in words.verse
        number = self._number(at)
        # The 9 of "until 9:30" is no verse.
        if number is None or number.value <= verse or self._tokens.gap(number.end - 1) == ":":
            return 0, end
        # "Verses 3 and 4", "3:5 and 6 say" are a range; "verse 3 and 10 people" is not.
        if self._word(end) == words.both:
            is_next = number.value == verse + 1
            if not is_next or not (is_plural or self._is_over(number.end)):
                return 0, end
        return number.value, number.end
