from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.words import behind, elided, is_free, is_unspaced, length, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Grace, and peace.", ["grace", "and", "peace"]),
        ("Don't! He’s risen", ["don't", "he's", "risen"]),
        ("1 Cor. 13:4–8", ["1", "cor", "13", "4", "8"]),
        ("snake_case 'quoted'", ["snake", "case", "quoted"]),
        ("¿Qué más?", ["qué", "más"]),
        ("qué", ["qué"]),
        ("परमेश्वर प्रेम है", ["परमेश्वर", "प्रेम", "है"]),
        ("בְּרֵאשִׁית בָּרָא", ["בְּרֵאשִׁית", "בָּרָא"]),
        ("神は愛です。", ["神", "は", "愛", "で", "す"]),
        ("พระเจ้า", ["พ", "ร", "ะ", "เ", "จ้", "า"]),
        ("耶稣 Jesus 爱你", ["耶", "稣", "jesus", "爱", "你"]),
        ("…♪ --", []),
    ],
)
def test_words_are_found_in_every_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(max_size=40))
def test_nothing_that_is_a_letter_or_a_digit_is_lost(text: str) -> None:
    folded = text.casefold()
    letters = [sign for sign in folded if sign.isalnum()]
    assert [sign for sign in "".join(words(text)) if sign.isalnum()] == letters


def test_scripts_without_spaces_are_known() -> None:
    assert is_unspaced("Jesus 爱")
    assert not is_unspaced("परमेश्वर, Dios, 12")
    assert not is_unspaced("、。")


def test_a_sign_of_several_letters_is_as_long_as_they_are() -> None:
    assert length("¿Qué más? परमेश्वर") == len("¿Qué más? परमेश्वर")
    assert length("神は愛です。") == 2 * 4 + 3 * 1.5 + 1
    assert length("耶稣 Jesus") == 2 * 4 + 6
    assert length("하나님은 사랑") == 6 * 2.5 + 1
    assert length("אור العالم") == 9 * 1.25 + 1
    assert length("") == 0


@pytest.mark.parametrize(
    ("text", "beginning", "rest"),
    [
        ("Ask not, what your", "ask not.", " what your"),
        ("Ask not", "Ask not!", ""),
        ('He said "no." And', "he said no", " And"),
        ("Ask what", "Ask not", None),
        ("Ask", "Ask not", None),
        ("Ask not", "", "Ask not"),
        ("He is twenty-five.", "He is twenty.", None),
        ("It cost 2,000.", "It cost 2.", None),
        ("\u795e\u306f\u611b", "\u795e\u306f", "\u611b"),
    ],
)
def test_what_stands_behind_a_beginning(text: str, beginning: str, rest: str | None) -> None:
    at = behind(text, beginning)
    assert (None if at is None else text[at:]) == rest


@pytest.mark.parametrize(
    ("word", "letters"),
    [("l'alliance", 2), ("Qu’elle", 3), ("jusqu'ici", 6), ("aujourd'hui", 0), ("l'", 0), ("", 0)],
)
def test_what_french_elides_before_a_word(word: str, letters: int) -> None:
    assert elided(word) == letters


@pytest.mark.parametrize(
    ("span", "free"), [((0, 3), True), ((3, 5), False), ((4, 9), False), ((9, 9), True)]
)
def test_a_stretch_is_free_where_it_overlaps_none(span: tuple[int, int], free: bool) -> None:
    assert is_free(span, [(4, 6), (7, 9)]) is free
    assert is_free(span, [])
