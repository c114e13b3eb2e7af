"""How numerals are read, what the speech model writes, and how word errors are counted."""

from __future__ import annotations

import pytest

from training.data import spoken
from training.evaluate import stt_score


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1 John 3:16", "First John three sixteen"),
        ("And I John saw. I John 4:8", "And I John saw. First John four eight"),
        ("John 3:5", "John three five"),
        ("Psalm 119:105-107", "Psalm one hundred nineteen one hundred five to one hundred seven"),
        (
            "in 1984, 2013 and 2005",
            "in nineteen eighty-four, twenty thirteen and two thousand five",
        ),
        ("1,250 of 30%", "one thousand two hundred fifty of thirty percent"),
        ("$5 at 6:05 and 7:00", "five dollars at six oh five and seven o'clock"),
        ("the 23rd, 20th and 12th", "the twenty-third, twentieth and twelfth"),
        ("3.14", "three point one four"),
        ("Mr. Li, Dr. Day", "Mister Li, Doctor Day"),
    ],
)
def test_numerals_are_read_aloud_the_same_way(text: str, read: str) -> None:
    assert spoken.spoken(text) == read


def test_what_nobody_hears_is_not_written() -> None:
    assert spoken.written('and he said, "Go (now) !"') == "And he said, Go now!"


@pytest.mark.parametrize(("text", "fit"), [("Go 3:16!", True), ("¿Qué?", False), ("12", False)])
def test_only_plain_english_is_spoken(text: str, fit: bool) -> None:
    assert spoken.speakable(text) is fit


@pytest.mark.parametrize(
    ("reference", "heard", "errors"),
    [
        ("God is love.", "god is love", 0),
        ("John 3:16", "John three sixteen.", 0),
        ("God is love.", "God love", 1),
        ("God is love.", "", 3),
        ("Amen.", "Amen, amen and amen.", 3),
        ("The Lord is near.", "The word is here.", 2),
    ],
)
def test_word_errors(reference: str, heard: str, errors: int) -> None:
    assert stt_score.word_errors(reference, heard)[0] == errors


def test_the_rate_is_over_all_words_of_the_references() -> None:
    assert stt_score.word_error_rate([("one two three", "one two"), ("four", "four")]) == 0.25
