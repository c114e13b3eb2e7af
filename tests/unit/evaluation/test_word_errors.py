"""Word errors of a transcript against its reference."""

from __future__ import annotations

import pytest

from pipeline.evaluation.word_errors import word_error_rate, word_errors


@pytest.mark.parametrize(
    ("said", "heard", "wrong", "spoken"),
    [
        ("God is love.", "god is love", 0, 3),
        ("God is love.", "God was love", 1, 3),
        ("God is love.", "God love", 1, 3),
        ("God is love.", "Our God is love", 1, 3),
        ("God is love.", "", 3, 3),
        ("", "thank you", 2, 0),
        ("", "", 0, 0),
    ],
)
def test_words_are_counted_without_case_and_punctuation(
    said: str, heard: str, wrong: int, spoken: int
) -> None:
    assert word_errors(said, heard) == (wrong, spoken)


def test_the_rate_is_that_of_all_words_and_not_a_mean_of_sentences() -> None:
    assert word_error_rate([("one two three", "one two"), ("four", "four")]) == 0.25
    assert word_error_rate([]) is None
    assert word_error_rate([("", "thank you")]) is None
