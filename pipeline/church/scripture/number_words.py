"""Read numbers in words and digits, by the grammar of each language. Pure.

`read` reads one number, as long as grammar joins the words: "eight twenty-eight" is two numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.church.scripture.tokens import Tokens
from pipeline.core import language_words
from pipeline.core.language_words import NumberWords


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text; `end` is the token after it."""

    value: int
    end: int
    ordinal: bool = False


_LONGEST = 4
"""Most words of a phrase: "quatre-vingt-dix-neuf"."""

WORDS: Mapping[str, NumberWords] = {
    lang: words.numbers for lang, words in language_words.WORDS.items() if words.numbers
}
"""By language."""


def read(tokens: Tokens, at: int, lang: str) -> Number | None:
    """Return the number that begins at a token, None if there is none."""
    words = WORDS[lang]
    total, limit, end, cursor = 0, 0, at, at
    while cursor < len(tokens):
        part = _part(tokens, cursor, words, is_first=not limit)
        # Each scale is smaller than the one before: "two thousand three thousand" is two numbers.
        if part is None or (limit and part.value >= limit):
            break
        scale = _scale(tokens, cursor, part, words)
        if limit and scale > limit and cursor == end:
            # "Dos mil trescientos millones": the scale multiplies the whole number.
            return Number((total + part.value) * scale, part.end + 1)
        # "Two thousand three thousand": the second begins another number.
        if limit and scale == limit:
            break
        if part.ordinal or not scale or (limit and scale > limit):
            return Number(total + part.value, part.end, part.ordinal)
        total, limit, end = total + part.value * scale, scale, part.end + 1
        # "Ocho mil millones", "deux mille milliards".
        greater = words.scales.get(tokens.word(end), 0) if tokens.is_joined(end - 1) else 0
        if total == part.value * scale and greater > scale:
            total, limit, end = total * greater, greater, end + 1
        cursor = end
        # "a thousand and one": the word between belongs to the number.
        if tokens.is_joined(end - 1) and tokens.word(end) == words.hundred_join != "":
            cursor += 1
        if not (tokens.is_joined(cursor - 1) or _goes_on(tokens, cursor, words)):
            break
    return Number(total, end) if limit else None


def _goes_on(tokens: Tokens, at: int, words: NumberWords) -> bool:
    """Whether hundreds follow thousands after a comma: "four thousand, three hundred"."""
    if not words.hundred or at >= len(tokens) or tokens.gap(at - 1) != ", ":
        return False
    part = None if tokens.word(at).isdecimal() else _part(tokens, at, words, is_first=False)
    return part is not None and part.value >= 100 and not part.ordinal


def _scale(tokens: Tokens, at: int, part: Number, words: NumberWords) -> int:
    """Return the scale after a part, such as thousand or million; 0 if there is none."""
    # A bare scale ("mil") is a part without a token of its own.
    is_near = part.end == at or tokens.is_joined(part.end - 1)
    return words.scales.get(tokens.word(part.end), 0) if is_near else 0


def _part(  # noqa: PLR0911 - form by form
    tokens: Tokens, at: int, words: NumberWords, *, is_first: bool
) -> Number | None:
    """Return a number below a thousand, or any in digits: it may come before a scale."""
    word = tokens.word(at)
    if word.isdecimal():
        # Nobody says longer ones, and int() raises for thousands of digits.
        return _digits(tokens, at, words) if is_first and len(word) <= 12 else None
    if word in words.bare_scales and is_first:
        # `end` stays at the word itself, which `_scale` reads as the scale.
        return Number(1, at)
    follows = tokens.word(at + 1) if tokens.is_joined(at) else ""
    if word == words.article and follows in (*words.hundred, *words.scales):
        is_hundred = follows in words.hundred
        return _with_rest(tokens, 100, at + 2, words) if is_hundred else Number(1, at + 1)
    # "All hundred and fifty came"; "a few hundred" are no number.
    if word in words.hundred and is_first and words.hundred_join and follows == words.hundred_join:
        rest = _with_rest(tokens, 100, at + 1, words)
        return rest if rest.end > at + 1 else None
    if word in words.hundreds:
        return _with_rest(tokens, words.hundreds[word], at + 1, words)
    part = _below_100(tokens, at, words)
    if part is None or part.ordinal or part.value not in words.counts_hundreds:
        return part
    follows = tokens.word(part.end) if tokens.is_joined(part.end - 1) else ""
    if follows in words.hundred:
        return _with_rest(tokens, part.value * 100, part.end + 1, words)
    if words.hundred_join and words.ordinals.get(follows) == 100:
        return Number(part.value * 100, part.end + 1, ordinal=True)
    return part


def _digits(tokens: Tokens, at: int, words: NumberWords) -> Number:
    has_sign = tokens.gap(at) == "" and tokens.word(at + 1) in words.ordinal_signs
    return Number(int(tokens.word(at)), at + 2 if has_sign else at + 1, ordinal=has_sign)


def _with_rest(tokens: Tokens, value: int, end: int, words: NumberWords) -> Number:
    """Return hundreds plus the number below a hundred that follows."""
    at = end
    if not tokens.is_joined(end - 1):
        return Number(value, end)
    if words.hundred_join and tokens.word(end) == words.hundred_join:
        if not tokens.is_joined(end):
            return Number(value, end)
        at = end + 1
    # "hundred 5" is two numbers: nobody mixes words and digits in one.
    rest = None if tokens.word(at).isdecimal() else _below_100(tokens, at, words)
    return Number(value + rest.value, rest.end, rest.ordinal) if rest else Number(value, end)


def _below_100(  # noqa: PLR0911 - form by form
    tokens: Tokens, at: int, words: NumberWords
) -> Number | None:
    if words.phrases:
        return _phrase(tokens, at, words)
    word = tokens.word(at)
    if word in words.ordinals:
        return _compound_ordinal(tokens, at, words)
    if word in words.small:
        return Number(words.small[word], at + 1)
    if word not in words.tens:
        return None
    value, after = words.tens[word], at + 1
    if words.tens_join:
        if not (tokens.is_joined(at) and tokens.word(after) == words.tens_join):
            return Number(value, after)
        after += 1
    # "Treinta y" without a unit: there the "y" joins something else.
    if not tokens.is_joined(after - 1):
        return Number(value, at + 1)
    unit = tokens.word(after)
    # Zero is no unit: "twenty zero" are two numbers.
    if 0 < words.small.get(unit, 0) < 10:
        return Number(value + words.small[unit], after + 1)
    # Where tens are joined by a word (Spanish), both parts are ordinals: `_compound_ordinal`.
    if not words.tens_join and 0 < words.ordinals.get(unit, 0) < 10:
        return Number(value + words.ordinals[unit], after + 1, ordinal=True)
    return Number(value, at + 1)


def _phrase(tokens: Tokens, at: int, words: NumberWords) -> Number | None:
    """Return the longest phrase that begins at a token."""
    # The longest first: "quatre-vingt-dix" begins with "quatre".
    for end in range(min(len(tokens), at + _LONGEST), at, -1):
        said = tokens.words[at:end]
        for phrases, is_ordinal in ((words.phrases, False), (words.ordinal_phrases, True)):
            if said in phrases and all(tokens.is_joined(n) for n in range(at, end - 1)):
                return Number(phrases[said], end, is_ordinal)
    return None


def _compound_ordinal(tokens: Tokens, at: int, words: NumberWords) -> Number:
    """Return an ordinal; in Spanish each part of it is an ordinal: "vigésimo tercer"."""
    value = words.ordinals[tokens.word(at)]
    if words.tens_join and value in range(10, 100, 10) and tokens.is_joined(at):
        unit = words.ordinals.get(tokens.word(at + 1), 0)
        if 0 < unit < 10:
            return Number(value + unit, at + 2, ordinal=True)
    return Number(value, at + 1, ordinal=True)
