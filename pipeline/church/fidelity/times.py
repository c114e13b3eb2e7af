"""Times of day in words: "half past three", "las tres y media", "trois heures et demie". Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pipeline.church.scripture.number_words import read
from pipeline.church.scripture.tokens import Tokens
from pipeline.core.language_words import WORDS, QuantityWords

Time: TypeAlias = tuple[int, int]
"""Minutes, and the index of the next token."""
TimeReader: TypeAlias = Callable[[Tokens, int, str, QuantityWords], Time | None]

QUANTITY_WORDS: Mapping[str, QuantityWords] = {
    lang: words.quantities for lang, words in WORDS.items() if words.quantities
}
"""The quantity words of each language."""


_BEFORE_MINUTES = frozenset({"at", "until", "till", "it's"})
"""English words that make "ten to three" a time if they precede it and no noun follows."""


def read_time(tokens: Tokens, at: int, lang: str) -> Time | None:
    """Return the time that begins at a token, in minutes, and the index of the next token.

    Minutes may be below zero or above half a day. None if no time begins there.
    """
    words = QUANTITY_WORDS[lang]
    return _READERS[words.time](tokens, at, lang, words)


def _english_time(tokens: Tokens, at: int, lang: str, words: QuantityWords) -> Time | None:
    """Read "half past three", "a quarter to four", "three thirty" after "at", "three o'clock"."""
    word = tokens.word(at)
    if word in words.half | words.quarter:
        minutes, end = (30 if word in words.half else 15), at + 1
    elif first := read(tokens, at, lang):
        minutes, end = first.value, first.end
    else:
        return None
    joint = tokens.word(end)
    if minutes < 60 and joint in words.past | words.to and (hour := read(tokens, end + 1, lang)):
        # "Ten to three" may also be a range; with "past", or "at" before it, it is a time.
        # If the clause ends with the hour, no noun can follow, as before "in".
        behind = tokens.word(hour.end) if tokens.is_joined(hour.end - 1) else "in"
        is_cued = tokens.word(at - 1) in _BEFORE_MINUTES and behind in words.after_time | {"in"}
        sure = word in words.half | words.quarter or joint == "past" or is_cued
        if sure and 1 <= hour.value <= 12 and not hour.ordinal:
            sign = 1 if joint in words.past else -1
            return hour.value * 60 + sign * minutes, hour.end
    # From here on the first number is the hour.
    if word in words.half | words.quarter or not 1 <= minutes <= 12:
        return None
    if joint in words.after_time or _is_dotted(tokens, end):
        return minutes * 60, end
    second = read(tokens, end, lang) if tokens.is_joined(end - 1) else None
    if second is None or not 10 <= second.value < 60 or second.ordinal:
        return None
    # "Three thirty" alone may be a chapter and its verse.
    is_cued = (
        tokens.word(at - 1) in words.before_time or tokens.word(second.end) in words.after_time
    )
    return (minutes * 60 + second.value, second.end) if is_cued else None


def _is_dotted(tokens: Tokens, at: int) -> bool:
    """Whether "p.m." begins at a token; its dot makes it two tokens."""
    return (
        tokens.word(at) in ("a", "p") and tokens.word(at + 1) == "m" and tokens.gap(at)[:1] == "."
    )


def _spanish_time(tokens: Tokens, at: int, lang: str, words: QuantityWords) -> Time | None:
    """Read "las tres y media", "las cuatro menos cuarto", "las tres y diez"."""
    # Without "las" before it "tres y diez" is two numbers.
    hour = read(tokens, at, lang) if tokens.word(at - 1) in words.before_time else None
    if hour is None or hour.ordinal or not 1 <= hour.value <= 12:
        return None
    joint = tokens.word(hour.end)
    if joint not in words.past | words.to:
        minutes_said = read(tokens, hour.end, lang) if tokens.is_joined(hour.end - 1) else None
        if minutes_said is None or not 10 <= minutes_said.value < 60 or minutes_said.ordinal:
            return None
        return hour.value * 60 + minutes_said.value, minutes_said.end
    after = tokens.word(hour.end + 1)
    if after in words.half | words.quarter:
        minutes, end = (30 if after in words.half else 15), hour.end + 2
    else:
        number = read(tokens, hour.end + 1, lang)
        if number is None or not 1 <= number.value < 60:
            return None
        minutes, end = number.value, number.end
    return hour.value * 60 + (minutes if joint in words.past else -minutes), end


def _french_time(tokens: Tokens, at: int, lang: str, words: QuantityWords) -> Time | None:
    """Read "trois heures et demie", "quatre heures moins le quart", "quinze heures trente".

    "Trois heures" alone is a number: it may be a duration.
    """
    word = tokens.word(at)
    if word in words.noon:
        hour, end, is_cued = words.noon[word], at + 1, True
    else:
        said = read(tokens, at, lang)
        if said is None or said.ordinal or said.value > 24:
            return None
        if said.value > 12 and tokens.word(said.end) in ("a", "et"):
            # "De dix-neuf à vingt heures".
            until = read(tokens, said.end + 1, lang)
            is_hour = until is not None and tokens.word(until.end) in words.after_time
            return (said.value * 60, said.end) if is_hour else None
        if tokens.word(said.end) not in words.after_time or not tokens.is_joined(said.end - 1):
            return None
        # "... heures et demie" may also be a duration.
        is_cued = tokens.word(at - 1) in words.before_time
        hour, end = said.value, said.end + 1
    minutes = _french_minutes(tokens, end, lang, words, is_cued=is_cued)
    if minutes is None:
        # "Après quinze heures": from 13 on the hour alone is a time, since other languages say 3.
        return (hour * 60, end) if hour > 12 else None
    return hour * 60 + minutes[0], minutes[1]


def _french_minutes(
    tokens: Tokens, at: int, lang: str, words: QuantityWords, *, is_cued: bool
) -> Time | None:
    """Return the minutes after an hour, and the index of the next token."""
    if not tokens.is_joined(at - 1):
        return None
    joint, after = tokens.word(at), tokens.word(at + 1)
    if joint in words.past and is_cued and after in words.half | words.quarter:
        return (30 if after in words.half else 15), at + 2
    is_before = joint in words.to
    # "Moins le quart", "moins un quart", "moins vingt": skip the article.
    first = at + (1 + (after in ("le", "un")) if is_before else 0)
    if is_before and tokens.word(first) in words.quarter:
        return -15, first + 1
    number = read(tokens, first, lang)
    # "Trois heures dix minutes" is a duration.
    if number is None or number.ordinal or tokens.word(number.end).startswith("minute"):
        return None
    minutes = -number.value if is_before else number.value
    return (minutes, number.end) if 1 <= number.value < 60 else None


_READERS: Mapping[str, TimeReader] = {
    "english": _english_time,
    "spanish": _spanish_time,
    "french": _french_time,
}
