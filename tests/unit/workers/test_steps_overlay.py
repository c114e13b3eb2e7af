"""The beginning of a final over its draft: each word once, nothing lost after it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.workers.steps import lay_over

WORDS = st.lists(st.sampled_from(["de", "la", "paz", "el", "libro", "Señor", "y"]), max_size=9)
"""Few different words, so that many repeat."""
ROMANS = "Esta es la lectura del libro de Romanos."


def bare(text: str) -> list[str]:
    return [re.sub(r"\W", "", word).casefold() for word in text.split()]


@pytest.mark.parametrize(
    ("beginning", "draft", "shown"),
    [
        ("", ROMANS, ROMANS),
        ("Lectura del libro", ROMANS, "Lectura del libro de Romanos."),
        ("Hoy la lectura del", ROMANS, "Hoy la lectura del libro de Romanos."),
        ("La gracia", "Gracia y paz a ustedes", "La gracia y paz a ustedes"),
        ("Hermanos míos,", "Amados, oíd la palabra.", "Hermanos míos, la palabra."),
        ("Amén. Oremos.", "Amén, oremos.", "Amén. Oremos."),
        ("Santo,", "Santo, santo, santo es él.", "Santo, santo, santo es él."),
        ("Amén", "", "Amén"),
        ("我们读", "我们来读罗马书。", "我们读罗马书。"),
        ("พระคุณ", "พระคุณและสันติสุข", "พระคุณและสันติสุข"),
        ("我们 read", "我们 read Romans 。", "我们 read Romans 。"),
    ],
)
def test_the_rest_of_the_draft_follows(beginning: str, draft: str, shown: str) -> None:
    assert lay_over(beginning, draft) == shown


def test_a_sentence_as_it_streams() -> None:
    """A case that was seen on screen: a word was shown twice while the final grew."""
    final = "Hoy leemos un pasaje del libro de Romanos."
    draft = "Hoy leemos del libro de Romanos."
    words = final.split()
    for count in range(len(words) + 1):
        shown = bare(lay_over(" ".join(words[:count]), draft))
        assert all(shown.count(word) == 1 for word in shown), shown
        assert shown[-1] == "romanos"


@given(WORDS, WORDS)
def test_no_word_is_on_both_sides_unless_the_draft_has_it_twice(
    above: list[str], below: list[str]
) -> None:
    beginning, draft = " ".join(above), " ".join(below)
    rest = bare(lay_over(beginning, draft))[len(above) :]
    if above and rest and rest[0] == bare(above[-1])[0]:
        assert bare(below[len(below) - len(rest) - 1]) == rest[:1]


@given(WORDS, WORDS)
def test_the_beginning_stands_whole_and_then_an_end_of_the_draft(
    above: list[str], below: list[str]
) -> None:
    shown = lay_over(" ".join(above), " ".join(below)).split()
    assert shown[: len(above)] == above
    rest = shown[len(above) :]
    assert rest == below[len(below) - len(rest) :]


@given(WORDS, st.integers(0, 9))
def test_a_final_that_says_what_the_draft_says_changes_nothing(
    words: list[str], count: int
) -> None:
    assert lay_over(" ".join(words[:count]), " ".join(words)) == " ".join(words)


@given(st.text("我们 reaดี", max_size=12), st.text("我们 reaดี", max_size=12))
def test_letters_and_words_mixed_lose_nothing(beginning: str, draft: str) -> None:
    shown = lay_over(beginning, draft)
    assert "".join(shown.split()).startswith("".join(beginning.split()))
    assert draft.strip().endswith(shown[len(beginning) :].strip())
