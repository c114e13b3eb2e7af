"""Numbers in words and digits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.scripture.number_words import WORDS, read
from pipeline.church.scripture.tokens import Tokens
from training.data.spoken import number_words


def values(text: str, lang: str) -> list[int | str]:
    """Return the numbers of a text in order; an ordinal as "3."."""
    tokens, at, found = Tokens(text), 0, list[int | str]()
    while at < len(tokens):
        number = read(tokens, at, lang)
        if number is not None:
            found.append(f"{number.value}." if number.ordinal else number.value)
        at = number.end if number else at + 1
    return found


NUMBERS: dict[str, list[tuple[str, list[int | str]]]] = {
    "en": [
        ("eight twenty-eight", [8, 28]),
        ("thirteen four through eight", [13, 4, 8]),
        ("a hundred and one", [101]),
        ("the twenty-third psalm", ["23."]),
        ("one million two hundred thousand and six", [1_200_006]),
        ("3 million", [3_000_000]),
        ("the 1,000th and the 3rd", ["1000.", "3."]),
        ("two hundred, and five", [200, 5]),
        ("four thousand, three hundred and fifty-two", [4352]),
        ("two thousand, five of them", [2000, 5]),
        ("a thousand hills and a dog", [1000]),
        ("nineteen hundred", [1900]),
        ("twenty and thirty", [20, 30]),
    ],
    "es": [
        ("mil novecientos ochenta y cuatro", [1984]),
        ("veintitrés, treinta y uno", [23, 31]),
        ("dos mil quinientas ovejas", [2500]),
        ("dos millones trescientos mil", [2_300_000]),
        ("el vigésimo tercer salmo y el tercer día", ["23.", "3."]),
        ("1.000 personas, la 3ª", [1000, "3."]),
        ("cien y ciento cinco", [100, 105]),
        ("treinta y", [30]),
    ],
    "fr": [
        ("huit vingt-huit", [8, 28]),
        ("soixante et onze, soixante-dix-neuf, quatre-vingts", [71, 79, 80]),
        ("quatre-vingt-dix-neuf brebis et une", [99, 1]),
        ("septante-sept, huitante-deux, nonante et un", [77, 82, 91]),
        ("cent dix-neuf cent cinq", [119, 105]),
        ("le vingt-troisième psaume, le premier et le 3e jour", ["23.", "1.", "3."]),
        ("soixante, dix", [60, 10]),
        ("deux cents, trois cent cinquante, cinq cents mille", [200, 350, 500_000]),
        ("mil neuf cent cinq, dix-neuf cent quatorze", [1905, 1914]),
        ("cinquante cents, dix cents", [50, 10]),
        ("deux millions trois cent mille, un milliard", [2_300_000, 10**9]),
        ("les deuxièmes et les premières", ["2.", "1."]),
    ],
}


@pytest.mark.parametrize(
    ("lang", "text", "numbers"),
    [(lang, *each) for lang, texts in NUMBERS.items() for each in texts],
)
def test_numbers_are_read_as_far_as_grammar_joins_them(
    lang: str, text: str, numbers: list[int | str]
) -> None:
    assert values(text, lang) == numbers


###


def test_french_has_every_number_below_a_hundred_once_as_an_ordinal_too() -> None:
    words = WORDS["fr"]
    assert set(words.phrases.values()) == set(range(100))
    assert set(words.ordinal_phrases.values()) == set(range(101))


@settings(deadline=None)
@given(st.integers(0, 999_999))
def test_every_number_is_read_as_it_is_said(number: int) -> None:
    assert values(f"there were {number_words(number)} of them", "en") == [number]
    assert values(f"there were {number} of them", "en") == [number]


_UNITS_FR = [*("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf")]
_UNITS_FR += ["dix", "onze", "douze", "treize", "quatorze", "quinze", "seize"]
_UNITS_FR += ["dix-sept", "dix-huit", "dix-neuf"]
_TENS_FR = ("", "", "vingt", "trente", "quarante", "cinquante", "soixante", "", "quatre-vingt")


def below_100(number: int) -> str:
    """Return a number below a hundred as it is said in France."""
    if number < 20:
        return _UNITS_FR[number]
    ten, unit = divmod(number, 10)
    if ten in (7, 9):
        ten, unit = ten - 1, unit + 10
    if not unit:
        return "quatre-vingts" if number == 80 else _TENS_FR[ten]
    joint = " et " if unit in (1, 11) and ten < 8 else "-"
    return f"{_TENS_FR[ten]}{joint}{_UNITS_FR[unit]}"


def said_in_french(number: int) -> str:
    """Return a number below a million as it is said in France."""
    thousands, rest = divmod(number, 1000)
    hundreds, rest = divmod(rest, 100)
    parts: list[str] = []
    if thousands:
        # "Cents" and "quatre-vingts" have no s before "mille".
        count = said_in_french(thousands).removesuffix("s") if thousands % 100 in (0, 80) else ""
        parts.append(f"{count or said_in_french(thousands)} mille" if thousands > 1 else "mille")
    if hundreds:
        many = "" if rest else "s"
        parts.append("cent" if hundreds == 1 else f"{_UNITS_FR[hundreds]} cent{many}")
    if rest or not parts:
        parts.append(below_100(rest))
    return " ".join(parts)


@settings(deadline=None)
@given(st.integers(0, 999_999))
def test_every_number_is_read_as_it_is_said_in_french(number: int) -> None:
    assert values(f"il y avait {said_in_french(number)} personnes", "fr") == [number]
    bare = said_in_french(number).replace("-", " ")  # as recognizers write it
    assert values(f"il y avait {bare} personnes", "fr") == [number]
