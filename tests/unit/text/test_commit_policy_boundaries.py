"""Where words begin among subwords."""

from __future__ import annotations

import pytest

from pipeline.text.commit_policy import HALF, begins_word, cut_to_words, last_word


@pytest.mark.parametrize(
    ("before", "piece", "begins"),
    [
        (" Lord", " is", True),
        ("\u2581Señor", "\u2581es", True),
        (" shep", "herd", False),
        (" girl", ".", False),
        ("神", "は", True),
        ("。", "神", True),
        ("神", "。", False),
        ("GPT", "は", True),
        ("は", "GPT", True),
        ("กิ", "\u0e34", False),  # a Thai vowel sits above the consonant before it
        (HALF, "神", False),
        ("神", HALF, True),
        ("caf", HALF, False),
        (HALF, HALF, False),
        ("<0xE3>", "は", False),
        ("は", "<0xE3>", True),
        ("<0xE3>", "<0x81>", False),
    ],
)
def test_where_a_word_begins(*, before: str, piece: str, begins: bool) -> None:
    assert begins_word(piece, before) is begins


def test_a_cut_goes_back_to_the_end_of_a_word() -> None:
    pieces = [" The", " Lo", "rd", ",", " my"]
    assert [cut_to_words(pieces, count) for count in range(6)] == [0, 1, 1, 1, 4, 5]
    assert cut_to_words(pieces, 3, least=2) == 2


@pytest.mark.parametrize(
    ("pieces", "first"),
    [
        ([" The", " Lo", "rd", "."], 1),
        ([" The", " Lord"], 1),
        (["The"], 0),
        ([], 0),
        ([".", "..."], 0),
        ([" a", " -", " b", " —"], 2),
    ],
)
def test_where_the_last_word_begins(pieces: list[str], first: int) -> None:
    assert last_word(pieces) == first
