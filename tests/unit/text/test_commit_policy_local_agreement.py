"""Which part of a partial is stable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.commit_policy import Stabilizer, agreed, revised_words


def test_half_a_word_is_not_stable() -> None:
    assert agreed("El Se", "El Señor") == len("El")
    assert agreed("神爱他", "神爱世人") == len("神爱")


def test_the_first_partial_has_nothing_stable() -> None:
    stabilizer = Stabilizer()
    assert stabilizer.push(1, "El Señor") == 0
    assert stabilizer.push(1, "El Señor es") == len("El Señor")


def test_another_utterance_starts_anew() -> None:
    stabilizer = Stabilizer()
    stabilizer.push(1, "El Señor")
    assert stabilizer.push(2, "El Señor") == 0


@given(st.text("ab ", max_size=30), st.text("ab ", max_size=30))
def test_the_stable_part_holds_the_same_words_in_both(previous: str, text: str) -> None:
    words = text[: agreed(previous, text)].split()
    assert previous.split()[: len(words)] == words
    assert text.split()[: len(words)] == words


@pytest.mark.parametrize(
    ("standing", "text", "count"),
    [
        ("Dios es", "Dios es bueno.", 0),
        ("dios es,", "Dios es bueno", 0),
        ("Dios era bueno", "Dios es bueno", 1),
        ("Si el sistema de", "Aunque un sistema", 3),
        ("", "Dios", 0),
        ("Dios", "", 1),
    ],
)
def test_words_that_stood_and_were_taken_back_are_counted(
    standing: str, text: str, count: int
) -> None:
    assert revised_words(standing, text) == count
