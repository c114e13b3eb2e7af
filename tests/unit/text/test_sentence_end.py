"""Whether a sentence is over where its speaker pauses."""

from __future__ import annotations

import pytest

from pipeline.text.sentence_end import HALF, goes_on


def test_the_surer_the_recognizer_is_of_its_full_stop_the_less_it_waits() -> None:
    waits = [goes_on("The Lord is my shepherd.", stop, "en") for stop in (0.2, 0.6, 0.9, 0.999)]
    assert waits == sorted(waits, reverse=True)
    assert waits[0] > HALF > waits[-1]


@pytest.mark.parametrize("text", ["We are saved by the.", "I came because."])
def test_behind_some_words_no_sentence_ends(text: str) -> None:
    assert goes_on(text, None, "en") > HALF > goes_on(text, None, "xx")
    assert goes_on(text, 0.9, "en") > goes_on("We are saved by grace.", 0.9, "en")


def test_without_a_measure_only_the_last_word_speaks() -> None:
    assert goes_on("We are saved by grace.", None, "en") == 0.0


def test_a_long_text_waits_for_no_more() -> None:
    assert goes_on("and so on " * 9, 0.1, "en") == 0.0
    assert goes_on("", 0.1, "en") == 0.0
