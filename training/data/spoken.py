"""How a written sentence is read aloud, and which signs the speech model learns to write.

Each synthesizer reads numerals in its own way (espeak-ng says "three colon five"). So numerals are
spelled out before synthesis: the same numeral always sounds and is written the same.
"""

from __future__ import annotations

import re

_ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
]  # fmt: skip
_TENS = [
    "zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
]  # fmt: skip
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_BOOK_NUMBERS = {
    "1": "First",
    "2": "Second",
    "3": "Third",
    "I": "First",
    "II": "Second",
    "III": "Third",
}
_NUMBERED_BOOKS = "Samuel|Kings|Chronicles|Corinthians|Thessalonians|Timothy|Peter|John"

_TITLES = {"Mr.": "Mister", "Mrs.": "Missis", "Ms.": "Miz", "Dr.": "Doctor", "St.": "Saint"}
# "And I John saw": an I without a chapter is the pronoun.
_NUMBERED = re.compile(rf"\b([123]|III?|I(?= \w+ \d)) (?={_NUMBERED_BOOKS})")
_DOLLARS = re.compile(r"\$(\d[\d,]*)(?:\.00)?")
_RANGE = re.compile(r"(\d+)[-\u2013](\d+)")
_REFERENCE = re.compile(r"(\d+):(\d+)")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_DECIMAL = re.compile(r"\b(\d+)\.(\d+)\b")
_YEAR = re.compile(r"\b(1[1-9]|20)(\d\d)\b(?!,\d)")
_NUMBER = re.compile(r"\d[\d,]*\d|\d")
_UNWRITTEN = re.compile(r'["()\[\]*_]')
_PLAIN = re.compile(r"[A-Za-z0-9 ,.;:?!'$%-]+")


def number_words(value: int) -> str:
    """A whole number below one billion (10^9) in words: 176 -> "one hundred seventy-six"."""
    for size, name in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if value >= size:
            rest = f" {number_words(value % size)}" if value % size else ""
            return f"{number_words(value // size)} {name}{rest}"
    if value < 20:
        return _ONES[value]
    return _TENS[value // 10] + (f"-{_ONES[value % 10]}" if value % 10 else "")


def ordinal_words(value: int) -> str:
    """An ordinal in words: 23 -> "twenty-third"."""
    head, separator, last = number_words(value).rpartition("-")
    if not separator:
        head, separator, last = number_words(value).rpartition(" ")
    ordinal = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return f"{head}{separator}{ordinal}"


def spoken(text: str) -> str:
    """Return the spoken form: "1 John 4:8" -> "First John four eight"; years are read in pairs."""
    for title, name in _TITLES.items():
        text = text.replace(title, name)
    text = _NUMBERED.sub(lambda m: f"{_BOOK_NUMBERS[m[1]]} ", text)
    text = _DOLLARS.sub(r"\1 dollars", text)
    text = _RANGE.sub(r"\1 to \2", text)
    text = _REFERENCE.sub(lambda m: f"{_words(m[1])} {_minutes(m[2])}", text)
    text = _ORDINAL.sub(lambda m: ordinal_words(int(m[1])), text)
    text = _DECIMAL.sub(
        lambda m: f"{_words(m[1])} point {' '.join(_ONES[int(d)] for d in m[2])}", text
    )
    text = _YEAR.sub(lambda m: _year(int(m[1]), int(m[2])), text)
    return _NUMBER.sub(lambda m: _words(m[0]), text).replace("%", " percent")


def _words(digits: str) -> str:
    return number_words(int(digits.replace(",", "")))


def _minutes(digits: str) -> str:
    if digits == "00":
        return "o'clock"
    return f"oh {_words(digits)}" if digits.startswith("0") else _words(digits)


def _year(century: int, rest: int) -> str:
    if century == 20 and rest < 10:
        return number_words(2000 + rest)
    if rest == 0:
        return number_words(century * 100) if century == 20 else f"{number_words(century)} hundred"
    return f"{number_words(century)} {'oh ' if rest < 10 else ''}{number_words(rest)}"


def written(text: str) -> str:
    """Return the form that the model writes: without quotes and brackets, which are not audible."""
    text = " ".join(_UNWRITTEN.sub("", text.replace("\u2013", ",").replace("\u2014", ",")).split())
    text = re.sub(r"\s+([,.;:?!])", r"\1", text)
    return text[:1].upper() + text[1:]


def speakable(text: str) -> bool:
    """Whether a text has words, and only signs that the synthesizers and the model know."""
    return bool(_PLAIN.fullmatch(text)) and any(c.isalpha() for c in text)
