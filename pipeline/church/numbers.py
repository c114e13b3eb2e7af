"""Numbers, years and times of a text, compared between what was said and its translation. Pure.

Both texts are read into values, so that "twelve", "12" and "doce" are one. A 1 never counts, since
"un" and "one" are articles and pronouns as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.church.number_context import WORDS, NumberContext
from pipeline.church.number_words import WORDS as NUMBER_WORDS
from pipeline.church.number_words import read
from pipeline.church.tokens import Tokens
from pipeline.text.words import plain

Kind = Literal["number", "ordinal", "time"]
Stretch = tuple[int, int]
"""From one character of a text up to another."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number where it stands in a text."""

    kind: Kind
    value: int
    """Of a time: minutes since midnight or noon, below 720."""
    start: int
    """In characters of the text."""
    end: int
    in_digits: bool
    tenths: str = ""
    """What stands behind the decimal sign."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Numbers that have no equal in the other text."""

    said: tuple[Quantity, ...]
    written: tuple[Quantity, ...]


LANGS = frozenset(WORDS)
_DECIMAL = re.compile(r"(?<![\d.,:])(\d+)[.,](\d{1,2})(?![\d.,])")
_CLOCK = re.compile(
    r"(?<![\d:.])([01]?\d|2[0-4])[:.]([0-5]\d)(?![\d:])\s*(?:([ap])\.?\s?m\b)?", re.IGNORECASE
)
_YEARS = range(1100, 2100)


def find(text: str, lang: str, skip: Collection[Stretch] = ()) -> tuple[Quantity, ...]:
    """Return the numbers of a text, left to right, but for those in the stretches to skip."""
    if lang not in LANGS:
        return ()
    words = WORDS[lang]
    taken = [*skip, *(match.span() for match in words.idioms.finditer(text))]
    found: list[Quantity] = []

    def take(quantity: Quantity) -> None:
        if _is_free(quantity.start, quantity.end, taken):
            taken.append((quantity.start, quantity.end))
            found.append(quantity)

    # Times and decimals first: their digits would be numbers of their own.
    for match in _CLOCK.finditer(text):
        # A dot is a decimal sign unless am or pm follows.
        is_clock = ":" in match.group() or match.group(3) is not None
        if is_clock:
            minutes = int(match.group(1)) % 12 * 60 + int(match.group(2))
            take(Quantity("time", minutes, match.start(), match.end(2), in_digits=True))
    for match in _DECIMAL.finditer(text):
        value, tenths = int(match.group(1)), match.group(2).rstrip("0")
        take(Quantity("number", value, match.start(), match.end(), in_digits=True, tenths=tenths))
    for quantity in _read(Tokens(text), lang, words):
        take(quantity)
    return tuple(sorted(found, key=lambda quantity: quantity.start))


def compare(
    said: Sequence[Quantity],
    written: Sequence[Quantity],
    texts: tuple[str, str],
    langs: tuple[str, str],
) -> Difference:
    """Return the numbers that stand in one of two texts only.

    `texts` and `langs` are those of what was said and of its translation, in this order: a number
    may also be said by a word such as "both".
    """
    left = list(written)
    missing = []
    for quantity in said:
        equal = next((other for other in left if _equal(quantity, other)), None)
        if equal is not None:
            # One number of the translation stands for one that was said.
            left.remove(equal)
        else:
            missing.append(quantity)
    return Difference(
        tuple(q for q in missing if _is_sure(q, texts, langs)),
        tuple(q for q in left if _is_sure(q, texts[::-1], langs[::-1])),
    )


def _is_sure(quantity: Quantity, texts: tuple[str, ...], langs: tuple[str, ...]) -> bool:
    """Whether a number of the first text is one that the second should have and has not."""
    word = plain(texts[0][quantity.start : quantity.end])
    if quantity.value < 2 or word in WORDS[langs[0]].unsure:
        return False
    return not _is_meant(quantity, texts[1], langs[1])


def written_like(quantity: Quantity, other: Quantity, lang: str) -> str:
    """Return a number as it is to stand in the place of another one, "" if that is not certain.

    In words only where a language has one word for it that never changes.
    """
    if quantity.kind == "time" or quantity.tenths or other.tenths:
        return ""
    if quantity.kind == "ordinal" or other.kind != "number":
        return ""
    if other.in_digits or quantity.value >= 30:
        return str(quantity.value)
    return _IN_WORDS[lang].get(quantity.value, "")


_SPANISH = (
    "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte"
)
_FRENCH = (
    "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf vingt"
)
_IN_WORDS: Mapping[str, Mapping[int, str]] = {
    "es": dict(enumerate(_SPANISH.split(), 2)),
    "fr": dict(enumerate(_FRENCH.split(), 2)),
    "en": {value: word for word, value in NUMBER_WORDS["en"].small.items() if value > 1},
}


def _equal(said: Quantity, other: Quantity) -> bool:
    if said.tenths != other.tenths:
        return False
    if said.kind == "time" and other.kind == "time":
        return said.value == other.value
    if "time" in (said.kind, other.kind):
        time, plain = (said, other) if said.kind == "time" else (other, said)
        # "At three" may be said as a bare number: the full hour, of any half of the day.
        return time.value % 60 == 0 and time.value // 60 == plain.value % 12
    return said.value == other.value


def _is_meant(quantity: Quantity, text: str, lang: str) -> bool:
    """Whether a text says a number by a word that is none."""
    meaning = WORDS[lang].meaning.get(quantity.value, frozenset())
    return not meaning.isdisjoint(Tokens(text).words)


def _is_free(start: int, end: int, taken: Collection[Stretch]) -> bool:
    return all(end <= first or start >= last for first, last in taken)


def _read(tokens: Tokens, lang: str, words: NumberContext) -> Iterator[Quantity]:
    at = 0
    while at < len(tokens):
        quantity, end = (
            _time(tokens, at, lang, words) or _number(tokens, at, lang) or (None, at + 1)
        )
        if quantity is not None:
            yield quantity
        at = end


def _number(tokens: Tokens, at: int, lang: str) -> tuple[Quantity, int] | None:
    number = read(tokens, at, lang)
    if number is None:
        return None
    start, in_digits = tokens.spans[at][0], tokens.word(at).isdecimal()
    value, end = number.value, number.end
    if lang == "en" and not number.ordinal and (year := _year(tokens, number.value, end)):
        value, end = year
    kind: Kind = "ordinal" if number.ordinal else "number"
    return Quantity(kind, value, start, tokens.spans[end - 1][1], in_digits), end


def _year(tokens: Tokens, hundreds: int, end: int) -> tuple[int, int] | None:
    """Return the year that is said in two halves: "nineteen eighty-four", "twenty oh five"."""
    # From "eleven oh two" to "twenty ninety-nine"; with the second half in digits it is chapter
    # and verse.
    if not 11 <= hundreds <= 20 or not tokens.is_joined(end - 1) or tokens.word(end).isdecimal():
        return None
    is_zero = tokens.word(end) in ("oh", "o")
    rest = read(tokens, end + is_zero, "en")
    if (
        rest is None
        or rest.ordinal
        or not (1 if is_zero else 10) <= rest.value < (10 if is_zero else 100)
    ):
        return None
    value = hundreds * 100 + rest.value
    return (value, rest.end) if value in _YEARS else None


def _time(tokens: Tokens, at: int, lang: str, words: NumberContext) -> tuple[Quantity, int] | None:
    found = _TIMES[lang](tokens, at, words)
    if found is None:
        return None
    minutes, end = found
    start = tokens.spans[at][0]
    return Quantity("time", minutes % 720, start, tokens.spans[end - 1][1], in_digits=False), end


def _english_time(tokens: Tokens, at: int, words: NumberContext) -> tuple[int, int] | None:
    """Read "half past three", "a quarter to four", "three thirty" behind "at", "three o'clock"."""
    word = tokens.word(at)
    if word in words.half | words.quarter:
        minutes, end = (30 if word in words.half else 15), at + 1
    elif first := read(tokens, at, "en"):
        minutes, end = first.value, first.end
    else:
        return None
    joint = tokens.word(end)
    if minutes < 60 and joint in words.past | words.to and (hour := read(tokens, end + 1, "en")):
        # "Ten to three" may be a range as well; with "past" it is a time.
        sure = word in words.half | words.quarter or joint == "past"
        if sure and 1 <= hour.value <= 12 and not hour.ordinal:
            sign = 1 if joint in words.past else -1
            return hour.value * 60 + sign * minutes, hour.end
    if word in words.half | words.quarter or not 1 <= minutes <= 12:
        return None
    if joint in words.after_time:
        return minutes * 60, end
    second = read(tokens, end, "en") if tokens.is_joined(end - 1) else None
    if second is None or not 10 <= second.value < 60 or second.ordinal:
        return None
    # "Three thirty" alone may be a chapter and its verse.
    is_cued = (
        tokens.word(at - 1) in words.before_time or tokens.word(second.end) in words.after_time
    )
    return (minutes * 60 + second.value, second.end) if is_cued else None


def _spanish_time(tokens: Tokens, at: int, words: NumberContext) -> tuple[int, int] | None:
    """Read "las tres y media", "las cuatro menos cuarto", "las tres y diez"."""
    hour = read(tokens, at, "es") if tokens.word(at - 1) in words.before_time else None
    if hour is None or hour.ordinal or not 1 <= hour.value <= 12:
        return None
    joint = tokens.word(hour.end)
    if joint not in words.past | words.to:
        minutes_said = read(tokens, hour.end, "es") if tokens.is_joined(hour.end - 1) else None
        if minutes_said is None or not 10 <= minutes_said.value < 60 or minutes_said.ordinal:
            return None
        return hour.value * 60 + minutes_said.value, minutes_said.end
    after = tokens.word(hour.end + 1)
    if after in words.half | words.quarter:
        minutes, end = (30 if after in words.half else 15), hour.end + 2
    else:
        number = read(tokens, hour.end + 1, "es")
        if number is None or not 1 <= number.value < 60:
            return None
        minutes, end = number.value, number.end
    return hour.value * 60 + (minutes if joint in words.past else -minutes), end


def _french_time(tokens: Tokens, at: int, words: NumberContext) -> tuple[int, int] | None:
    """Read "sept heures et demie", "huit heures moins le quart", "19 h 30", "quinze heures".

    A full hour up to twelve is left a number: "trois heures" may be how long something took.
    """
    hour = read(tokens, at, "fr")
    if hour is None or hour.ordinal or hour.value > 24:
        return None
    if tokens.word(hour.end) not in words.after_time:
        return None
    after = hour.end + 1
    joint = tokens.word(after)
    is_before = joint in words.to
    if joint in words.past or is_before:
        after += 1 + (tokens.word(after + 1) == "le")
    if tokens.word(after) in words.half | words.quarter and after > hour.end + 1:
        minutes, end = (30 if tokens.word(after) in words.half else 15), after + 1
    else:
        # "19h30" has nothing between.
        is_next = tokens.gap(after - 1) == "" or tokens.is_joined(after - 1)
        number = read(tokens, after, "fr") if is_next else None
        if number is None or number.ordinal or not 1 <= number.value < 60 or joint in words.past:
            return (hour.value * 60, hour.end + 1) if hour.value > 12 else None
        minutes, end = number.value, number.end
    return hour.value * 60 + (-minutes if is_before else minutes), end


_TIMES = {"en": _english_time, "es": _spanish_time, "fr": _french_time}
