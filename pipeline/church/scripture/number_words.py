"""Numbers in words and digits: the words of each language, and how they are put together. Pure.

`read` takes one number at a time, as long as grammar joins the words: "eight twenty-eight" is two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.church.scripture.tokens import Tokens
from pipeline.text.words import word_set


@dataclass(frozen=True, slots=True)
class NumberWords:
    """How a language says numbers. All words as `tokens.plain` has them."""

    small: Mapping[str, int]
    """0 to 29, in one word."""
    tens: Mapping[str, int]
    tens_join: str
    """Between tens and units; "" where nothing is said."""
    hundreds: Mapping[str, int]
    """Hundreds in one word."""
    hundred: frozenset[str]
    """The word behind how many hundreds; none where hundreds are one word."""
    hundred_join: str
    scales: Mapping[str, int]
    bare_scales: frozenset[str]
    """Of these one may be said without "one" before it."""
    article: str
    """What stands for "one" before a hundred or a scale."""
    ordinals: Mapping[str, int]
    ordinal_signs: tuple[str, ...]
    """Behind digits."""
    phrases: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    """0 to 99 word by word, in place of `small` and `tens`: French counts in twenties."""
    ordinal_phrases: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    counts_hundreds: frozenset[int] = frozenset(range(1, 100))
    """How many hundreds are said so."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number that stands in a text from one token up to another."""

    value: int
    end: int
    ordinal: bool = False


_EN_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_EN_TEENS = "fifteen sixteen seventeen eighteen nineteen"
_EN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_EN_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_EN_TENTHS = (
    "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth"
)
_ES_SMALL = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro "
    "veinticinco veintiseis veintisiete veintiocho veintinueve"
)
_ES_TENS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa"
_ES_HUNDREDS = (
    "ciento doscient trescient cuatrocient quinient seiscient setecient ochocient novecient"
)
_ES_ORDINALS = (
    "primer segund tercer cuart quint sext septim octav noven decim undecim duodecim decimotercer "
    "decimocuart decimoquint decimosext decimoseptim decimoctav decimonoven"
)
_ES_TENTHS = "vigesim trigesim cuadragesim quincuagesim sexagesim septuagesim"


_FR_SMALL = (
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
)
_FR_TENS = "vingt trente quarante cinquante soixante"
_FR_ELSEWHERE = {"septante": 70, "huitante": 80, "octante": 80, "nonante": 90}
"""In Belgium and Switzerland."""
_FR_IRREGULAR = {"un": "uni", "cinq": "cinqui", "neuf": "neuvi", "vingts": "vingti"}
"""What stands before -ème; elsewhere the word without its last e, and an i."""


def _counted(words: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * n for n, word in enumerate(words.split())}


def _french() -> dict[tuple[str, ...], int]:
    """Return the ways to say 0 to 99, word by word."""
    small = [tuple(word.split("-")) for word in _FR_SMALL.split()]
    said = {words: value for value, words in enumerate(small)} | {("une",): 1}
    twenties = {("quatre", "vingt"): 80}
    tens = {(word,): value for word, value in _counted(_FR_TENS, 20, 10).items()}
    for ten, value in (tens | twenties | {(w,): v for w, v in _FR_ELSEWHERE.items()}).items():
        said[ten] = value
        # "Soixante-quinze" and "quatre-vingt-quinze" go on up to nineteen.
        # Where people say "huitante", 90 has a word of its own as well.
        most = 20 if value in (60, 80) and ten not in (("huitante",), ("octante",)) else 10
        for unit, words in enumerate(small[1:most], 1):
            said[*ten, *words] = value + unit
            if unit in (1, 11):
                said[*ten, "et", *words] = value + unit
    return said | {("quatre", "vingts"): 80}


def _french_ordinals() -> dict[tuple[str, ...], int]:
    made = {}
    for words, value in _french().items():
        last = words[-1]
        stem = _FR_IRREGULAR.get(last, f"{last.removesuffix('e')}i")
        for end in ("eme", "emes"):
            made[*words[:-1], f"{stem}{end}"] = value
    first = {(word,): 1 for word in ("premier", "premiere", "premiers", "premieres")}
    return made | first | {(word,): 2 for word in ("second", "seconde", "seconds", "secondes")}


def _gendered(stems: Mapping[str, int]) -> dict[str, int]:
    return {
        f"{stem}{end}": value for stem, value in stems.items() for end in ("o", "a", "os", "as")
    }


_ES_ORDINAL_STEMS = _counted(_ES_ORDINALS, 1) | _counted(_ES_TENTHS, 20, 10)
_ES_HUNDRED_STEMS = _counted(_ES_HUNDREDS, 100, 100)

_LONGEST = 4
"""Words of a phrase: "quatre-vingt-dix-neuf"."""

WORDS: Mapping[str, NumberWords] = {
    "en": NumberWords(
        small=_counted(f"{_EN_UNITS} {_EN_TEENS}", 0),
        tens=_counted(_EN_TENS, 20, 10),
        tens_join="",
        hundreds={},
        hundred=word_set("hundred"),
        hundred_join="and",
        scales={"thousand": 1000, "million": 10**6, "billion": 10**9},
        bare_scales=frozenset(),
        article="a",
        ordinals=_counted(_EN_ORDINALS, 1) | _counted(_EN_TENTHS, 20, 10),
        ordinal_signs=("st", "nd", "rd", "th"),
    ),
    "es": NumberWords(
        small=_counted(_ES_SMALL, 0) | {"un": 1, "una": 1, "veintiun": 21, "veintiuna": 21},
        tens=_counted(_ES_TENS, 30, 10),
        tens_join="y",
        hundreds={"cien": 100, "ciento": 100}
        # "Ciento" has no gender: it stands above.
        | {f"{s}{e}": v for s, v in _ES_HUNDRED_STEMS.items() if v > 100 for e in ("os", "as")},
        hundred=frozenset(),
        hundred_join="",
        scales={"mil": 1000, "millon": 10**6, "millones": 10**6},
        bare_scales=frozenset({"mil"}),
        article="",
        ordinals=_gendered(_ES_ORDINAL_STEMS) | {"primer": 1, "tercer": 3},
        ordinal_signs=("o", "a", "º", "ª", "er", "ro", "ra", "do", "da", "to", "ta"),
    ),
    "fr": NumberWords(
        small={},
        tens={},
        tens_join="",
        hundreds={"cent": 100},
        hundred=word_set("cent cents"),
        hundred_join="",
        scales={"mille": 1000, "mil": 1000, "million": 10**6, "millions": 10**6}
        | {"milliard": 10**9, "milliards": 10**9},
        bare_scales=word_set("mille mil"),
        article="",
        ordinals={},
        ordinal_signs=("e", "er", "ere", "re", "eme", "nd", "nde"),
        phrases=_french(),
        ordinal_phrases=_french_ordinals(),
        # Up to "dix-neuf cent", as years are said; "dix cents" and "vingt cents" are money.
        counts_hundreds=frozenset(range(2, 20)) - {10},
    ),
}


def read(tokens: Tokens, at: int, lang: str) -> Number | None:
    """Return the number that begins at a token, None if none does there."""
    words = WORDS[lang]
    total, limit, end, cursor = 0, 0, at, at
    while cursor < len(tokens):
        part = _part(tokens, cursor, words, is_first=not limit)
        # Each scale is smaller than the one before: "two thousand three thousand" is two numbers.
        if part is None or (limit and part.value >= limit):
            break
        scale = _scale(tokens, cursor, part, words)
        if part.ordinal or not scale or (limit and scale >= limit):
            return Number(total + part.value, part.end, part.ordinal)
        total, limit, end = total + part.value * scale, scale, part.end + 1
        cursor = end
        # "a thousand and one": the word between belongs to the number.
        if tokens.is_joined(end - 1) and tokens.word(end) == words.hundred_join != "":
            cursor += 1
        if not tokens.is_joined(cursor - 1):
            break
    return Number(total, end) if limit else None


def _scale(tokens: Tokens, at: int, part: Number, words: NumberWords) -> int:
    """Return the thousands or millions that a part counts, 0 if it counts none."""
    is_near = part.end == at or tokens.is_joined(part.end - 1)
    return words.scales.get(tokens.word(part.end), 0) if is_near else 0


def _part(  # noqa: PLR0911 - form by form
    tokens: Tokens, at: int, words: NumberWords, *, is_first: bool
) -> Number | None:
    """Return a number below a thousand, or any in digits: what may stand before a scale."""
    word = tokens.word(at)
    if word.isdecimal():
        # Nobody says longer ones, and int() raises for thousands of digits.
        return _digits(tokens, at, words) if is_first and len(word) <= 12 else None
    if word in words.bare_scales and is_first:
        return Number(1, at)
    follows = tokens.word(at + 1) if tokens.is_joined(at) else ""
    if word == words.article and follows in (*words.hundred, *words.scales):
        is_hundred = follows in words.hundred
        return _with_rest(tokens, 100, at + 2, words) if is_hundred else Number(1, at + 1)
    if word in words.hundreds:
        return _with_rest(tokens, words.hundreds[word], at + 1, words)
    part = _below_100(tokens, at, words)
    if part is None or part.ordinal or part.value not in words.counts_hundreds:
        return part
    if tokens.is_joined(part.end - 1) and tokens.word(part.end) in words.hundred:
        return _with_rest(tokens, part.value * 100, part.end + 1, words)
    return part


def _digits(tokens: Tokens, at: int, words: NumberWords) -> Number:
    has_sign = tokens.gap(at) == "" and tokens.word(at + 1) in words.ordinal_signs
    return Number(int(tokens.word(at)), at + 2 if has_sign else at + 1, ordinal=has_sign)


def _with_rest(tokens: Tokens, value: int, end: int, words: NumberWords) -> Number:
    """Return hundreds together with what is said below a hundred."""
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
    if 0 < words.small.get(unit, 0) < 10:
        return Number(value + words.small[unit], after + 1)
    if not words.tens_join and 0 < words.ordinals.get(unit, 0) < 10:
        return Number(value + words.ordinals[unit], after + 1, ordinal=True)
    return Number(value, at + 1)


def _phrase(tokens: Tokens, at: int, words: NumberWords) -> Number | None:
    """Return the longest of the phrases that stands at a token."""
    # The longest first: "quatre-vingt-dix" begins with "quatre".
    for end in range(min(len(tokens), at + _LONGEST), at, -1):
        said = tokens.words[at:end]
        for phrases, is_ordinal in ((words.phrases, False), (words.ordinal_phrases, True)):
            if said in phrases and all(tokens.is_joined(n) for n in range(at, end - 1)):
                return Number(phrases[said], end, is_ordinal)
    return None


def _compound_ordinal(tokens: Tokens, at: int, words: NumberWords) -> Number:
    """Return an ordinal; Spanish says each part of it: "vigésimo tercer"."""
    value = words.ordinals[tokens.word(at)]
    if words.tens_join and value in range(10, 100, 10) and tokens.is_joined(at):
        unit = words.ordinals.get(tokens.word(at + 1), 0)
        if 0 < unit < 10:
            return Number(value + unit, at + 2, ordinal=True)
    return Number(value, at + 1, ordinal=True)
