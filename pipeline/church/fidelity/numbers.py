"""Compare the numbers, years and times of a source text with those of its translation. Pure.

Both texts are parsed into values, so that "twelve", "12" and "doce" are equal. A 1 never counts,
since "un" and "one" are articles and pronouns as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pipeline.church.fidelity.times import QUANTITY_WORDS, read_time
from pipeline.church.scripture.number_words import WORDS as NUMBER_WORDS
from pipeline.church.scripture.number_words import read
from pipeline.church.scripture.tokens import Tokens
from pipeline.text.words import Span, is_free, plain, roman

Kind = Literal["number", "ordinal", "time"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its position in a text."""

    kind: Kind
    value: int
    """For a time: minutes since midnight or noon, below 720."""
    start: int
    """In characters of the text."""
    end: int
    in_digits: bool
    tenths: str = ""
    """The digits after the decimal sign."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Numbers that have no equal in the other text."""

    said: tuple[Quantity, ...]
    written: tuple[Quantity, ...]


LANGS = frozenset(QUANTITY_WORDS) & frozenset(NUMBER_WORDS)
# Before one or two digits either sign is a decimal sign; before three it separates thousands.
_DECIMAL = re.compile(r"(?<![\d.,:])(\d{1,3}(?:[.,]\d{3}){1,4}|\d{1,12})[.,](\d{1,2})(?!\d|[.,]\d)")
_HALF_DAY = re.compile(r"(?<![\d:.,])(1[0-2]|0?[1-9])\s*[ap]\.?\s?m\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?<![\d:.])([01]?\d|2[0-4])[:.]([0-5]\d)(?![\d:])\s*(?:([ap])\.?\s?m\b)?", re.IGNORECASE
)
# In French and Spanish spaces separate thousands: "40 000", "1 234,5".
_GROUPED = re.compile(
    r"(?<![\d.,:])(\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4})(?:,(\d{1,2}))?(?![\d.,]\d|\d)"
)
_HOURS = re.compile(r"(?<![\d:.,])([01]?\d|2[0-4])\s?h(?:\s?([0-5]\d))?(?!\w)", re.IGNORECASE)
_MILLION = 1_000_000
_YEARS = range(1100, 2100)
# The most digits of one number that `number_words` reads.
_MOST_DIGITS = 12
_SHORT_YEAR = ("'", "’", "oh ", "años ", "años de los ")
"""What stands before a year in two digits."""
_WORD_BEHIND = re.compile(r"\s+([^\W\d_]+)")
# Between the parts of "nine oh one"; an "oh" is a zero.
_IN_A_ROW = re.compile(r"[\s-]+(?:oh?[\s-]+)?", re.IGNORECASE)


def find(text: str, lang: str, skip: Collection[Span] = ()) -> tuple[Quantity, ...]:
    """Return the numbers of a text, left to right, except those in the spans to skip."""
    if lang not in LANGS:
        return ()
    words = QUANTITY_WORDS[lang]
    # Figures of speech first, so that their numbers do not count.
    taken = [*skip, *(match.span() for match in words.idioms.finditer(text))]
    found: list[Quantity] = []

    def take(quantity: Quantity) -> None:
        # The first reading of a place wins: the forms below go from the longest to the shortest.
        if is_free((quantity.start, quantity.end), taken):
            taken.append((quantity.start, quantity.end))
            found.append(quantity)

    # First, because the other forms would read each group as a number.
    for match in _GROUPED.finditer(text) if words.digits else ():
        take(_in_digits(match, lang))
    for match in _HOURS.finditer(text) if words.digits == "french" else ():
        # Half a day, as in `_time`: 15 h is three.
        minutes = int(match[1]) % 12 * 60 + int(match[2] or 0)
        take(Quantity("time", minutes, *match.span(), in_digits=True))
    for match in words.century.finditer(text) if words.century else ():
        for group in (1, 2):
            if numeral := match[group]:
                take(Quantity("ordinal", roman(numeral), *match.span(group), in_digits=False))
    # Times and decimals before plain numbers, which would read their digits separately.
    for match in _CLOCK.finditer(text):
        # A dot is a decimal sign unless am or pm follows, or it is Spanish: "a las 10.30".
        is_clock = ":" in match.group() or match.group(3) is not None
        if words.time == "spanish":
            is_clock |= text[: match.start()].lower().split()[-1:] in (["las"], ["la"])
        if is_clock:
            minutes = int(match.group(1)) % 12 * 60 + int(match.group(2))
            take(Quantity("time", minutes, match.start(), match.end(2), in_digits=True))
    for match in _HALF_DAY.finditer(text):
        minutes = int(match.group(1)) % 12 * 60
        take(Quantity("time", minutes, *match.span(1), in_digits=True))
    for match in _DECIMAL.finditer(text):
        take(_in_digits(match, lang))
    for quantity in _read(Tokens(text), lang):
        take(quantity)
    return tuple(sorted(found, key=lambda quantity: quantity.start))


def _in_digits(match: re.Match[str], lang: str) -> Quantity:
    """Return a number in digits with the scale after it: "1.3 billion" is "1300 millones"."""
    value, tenths, end = int(re.sub(r"\D", "", match[1])), (match[2] or "").rstrip("0"), match.end()
    behind = _WORD_BEHIND.match(match.string, end)
    if behind and (scale := NUMBER_WORDS[lang].scales.get(plain(behind[1]))):
        value = value * scale + int(f"0{tenths}") * scale // 10 ** len(tenths)
        tenths, end = "", behind.end()
    return Quantity("number", value, match.start(), end, in_digits=True, tenths=tenths)


def compare(
    said: Sequence[Quantity],
    written: Sequence[Quantity],
    texts: tuple[str, str],
    langs: tuple[str, str],
) -> Difference:
    """Return the numbers that are in only one of two texts.

    `texts` and `langs` are those of the source and of the translation, in this order; they are
    needed because a word such as "both" may express a number.
    """
    # Both ways: either text may have as one number what the other has in parts.
    said, written = _without_rows(said, written, texts[0])
    left, said = _without_rows(written, said, texts[1])
    missing = []
    for quantity in said:
        equal = next((other for other in left if _is_said(quantity, other, texts)), None)
        if equal is not None:
            # One number of the translation matches only one of the source.
            left.remove(equal)
        else:
            missing.append(quantity)
    return Difference(
        tuple(q for q in missing if _is_sure(q, texts, langs)),
        # Reversed: here the translation has the number.
        tuple(q for q in left if _is_sure(q, texts[::-1], langs[::-1])),
    )


def _is_said(said: Quantity, written: Quantity, texts: tuple[str, str]) -> bool:
    """Whether two numbers match. In either text a year may have two digits instead of four: "since
    '09" may be "desde 2009", and "the 1940s" may be "los años cuarenta"."""
    return _equal(said, written) or any(
        text.endswith(_SHORT_YEAR, 0, one.start) and other.value % 100 == one.value
        for one, other, text in ((said, written, texts[0]), (written, said, texts[1]))
    )


def _without_rows(
    some: Sequence[Quantity], others: Sequence[Quantity], text: str
) -> tuple[list[Quantity], list[Quantity]]:
    """Return both without the numbers that one has in parts: "nine oh one" and "901"."""
    left, rows = list(others), list[list[Quantity]]()
    for each in some:
        is_next = rows and _IN_A_ROW.fullmatch(text, rows[-1][-1].end, each.start)
        # The number joins the last row, or begins a new one.
        rows[-1:] = [[*rows[-1], each]] if is_next else [*rows[-1:], [each]]
    kept: list[Quantity] = []
    for row in rows:
        digits = f"{row[0].value}"
        for before, each in pairwise(row):
            is_zero = "o" in text[before.end : each.start].lower()
            digits += f"{'0' * is_zero}{each.value}"
        # Both texts may have the parts: "seventy, seven zero".
        are_there = all(any(_equal(each, other) for other in left) for each in row)
        fits = len(row) > 1 and len(digits) <= _MOST_DIGITS and not are_there
        one = next((each for each in left if fits and each.value == int(digits)), None)
        if one is None:
            kept += row
        else:
            left.remove(one)
    return kept, left


def _is_sure(quantity: Quantity, texts: tuple[str, ...], langs: tuple[str, ...]) -> bool:
    """Whether the second text should have a number of the first one and does not."""
    word = plain(texts[0][quantity.start : quantity.end])
    if quantity.value < 2 or word in QUANTITY_WORDS[langs[0]].unsure:
        return False
    # The second text may express it by a word that is no number.
    meaning = QUANTITY_WORDS[langs[1]].meaning.get(quantity.value, frozenset())
    return meaning.isdisjoint(Tokens(texts[1]).words)


def written_like(quantity: Quantity, other: Quantity, lang: str) -> str:
    """Return a number in the form that replaces `other`, "" if the form is uncertain.

    In words only if the language has one word for it that never changes.
    """
    if {quantity.kind, other.kind} != {"number"} or quantity.tenths or other.tenths:
        return ""
    # One million is excluded: the longest word is the plural.
    if quantity.value > _MILLION and quantity.value % (_MILLION // 10) == 0:
        million = max((w for w, s in NUMBER_WORDS[lang].scales.items() if s == _MILLION), key=len)
        count = f"{quantity.value / _MILLION:.1f}".removesuffix(".0")
        is_comma = QUANTITY_WORDS[lang].digits == "french"
        return f"{count.replace('.', ',') if is_comma else count} {million}"
    if other.in_digits or quantity.value >= 30:
        is_parted = QUANTITY_WORDS[lang].digits == "french" and quantity.value >= 10_000
        digits = f"{quantity.value:,}" if is_parted else str(quantity.value)
        return digits.replace(",", "\u00a0")
    return _IN_WORDS[lang].get(quantity.value, "")


_IN_WORDS: Mapping[str, Mapping[int, str]] = {
    lang: dict(enumerate(words.written.split(), 2)) for lang, words in NUMBER_WORDS.items()
}


def _equal(said: Quantity, other: Quantity) -> bool:
    if said.tenths != other.tenths:
        return False
    if said.kind == "time" and other.kind == "time":
        return said.value == other.value
    if "time" in (said.kind, other.kind):
        time, bare = (said, other) if said.kind == "time" else (other, said)
        # A bare number may mean a full hour in either half of the day: "at three".
        return time.value % 60 == 0 and time.value // 60 == bare.value % 12
    return said.value == other.value


def _read(tokens: Tokens, lang: str) -> Iterator[Quantity]:
    at = 0
    while at < len(tokens):
        quantity, end = _time(tokens, at, lang) or _number(tokens, at, lang) or (None, at + 1)
        if quantity is not None:
            yield quantity
        at = end


def _number(tokens: Tokens, at: int, lang: str) -> tuple[Quantity, int] | None:
    number = read(tokens, at, lang)
    if number is None:
        return None
    start, in_digits = tokens.spans[at][0], tokens.word(at).isdecimal()
    value, end = number.value, number.end
    if NUMBER_WORDS[lang].year_halves and not number.ordinal:
        value, end = _year(tokens, value, end, lang) or (value, end)
    if not number.ordinal:
        value, end = _and_a_half(tokens, value, end, lang)
    # An ordinal equals a number of the same value, but neither may replace the other.
    kind: Kind = "ordinal" if number.ordinal else "number"
    return Quantity(kind, value, start, tokens.spans[end - 1][1], in_digits), end


def _and_a_half(tokens: Tokens, value: int, end: int, lang: str) -> tuple[int, int]:
    """Return the value of "two and a half million", "dos millones y medio"; others unchanged."""
    half = QUANTITY_WORDS[lang].and_half
    after = end + len(half)
    if not half or tokens.words[end:after] != half:
        return value, end
    if scale := NUMBER_WORDS[lang].scales.get(tokens.word(after)):
        return value * scale + scale // 2, after + 1
    scales = [s for s in NUMBER_WORDS[lang].scales.values() if s >= _MILLION and value % s == 0]
    return (value + max(scales) // 2, after) if value and scales else (value, end)


def _year(tokens: Tokens, hundreds: int, end: int, lang: str) -> tuple[int, int] | None:
    """Return a year spoken in two halves: "nineteen eighty-four", "twenty oh five"."""
    # From "eleven oh two" to "twenty ninety-nine". If the second half is in digits, it is chapter
    # and verse.
    if not 11 <= hundreds <= 20 or not tokens.is_joined(end - 1) or tokens.word(end).isdecimal():
        return None
    is_zero = tokens.word(end) in ("oh", "o")
    rest = read(tokens, end + is_zero, lang)
    if (
        rest is None
        or rest.ordinal
        or not (1 if is_zero else 10) <= rest.value < (10 if is_zero else 100)
    ):
        return None
    value = hundreds * 100 + rest.value
    return (value, rest.end) if value in _YEARS else None


def _time(tokens: Tokens, at: int, lang: str) -> tuple[Quantity, int] | None:
    found = read_time(tokens, at, lang)
    if found is None:
        return None
    minutes, end = found
    start = tokens.spans[at][0]
    # Modulo half a day: "quinze heures" and "three in the afternoon" are the same time.
    return Quantity("time", minutes % 720, start, tokens.spans[end - 1][1], in_digits=False), end
