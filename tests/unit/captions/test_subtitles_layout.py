"""Readable subtitles: line length, lines, breaks, speed; and not a word is lost."""

from __future__ import annotations

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.captions.subtitles import (
    CHARS_PER_S,
    GAP_S,
    LINE_CHARS,
    LINES,
    SHORTEST_S,
    TIED,
    Cue,
    Spoken,
    arrange,
    break_cost,
    divide,
)
from tests.support.examples import examples

LONG = (
    "But he knows the covenant that God made with the people of Abraham, and he remembers that "
    "the Lord is faithful. He goes on."
)


def spoken(start_s: float, end_s: float, *texts: str) -> Spoken:
    return Spoken(start_s, end_s, tuple(zip(("en", "es"), texts, strict=False)))


@pytest.mark.parametrize(
    ("lang", "text", "cues"),
    [
        ("en", "The Lord is my shepherd.", ["The Lord is my shepherd."]),
        (
            "en",
            "The Lord is my shepherd, and I shall not be in want.",
            ["The Lord is my shepherd,\nand I shall not be in want."],
        ),
        (
            "es",
            "Nuestra hermana María le leyó la palabra de Dios.",
            ["Nuestra hermana María\nle leyó la palabra de Dios."],
        ),
        (
            "en",
            LONG,
            [
                "But he knows the covenant that God made\nwith the people of Abraham,",
                "and he remembers\nthat the Lord is faithful. He goes on.",
            ],
        ),
    ],
)
def test_breaks_follow_the_phrases(lang: str, text: str, cues: list[str]) -> None:
    assert divide(text, lang) == cues


def test_no_line_ends_with_an_article_or_a_preposition_where_another_place_is_near() -> None:
    for text in (LONG, LONG.replace(",", ""), f"{LONG} {LONG}"):
        for cue in divide(text, "en"):
            for first, second in pairwise(cue.split("\n")):
                assert break_cost(first.split()[-1], second.split()[0], "en") < TIED


def test_a_long_text_has_no_orphans() -> None:
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    for count in range(2, 15):
        text = " ".join(words.split()[:count])
        lines = [line for cue in divide(text, "en") for line in cue.split("\n")]
        assert all(len(line.split()) > 1 for line in lines)


def test_a_word_longer_than_a_line_is_cut() -> None:
    divided = divide("amen " + "x" * 100, "en")
    assert "".join("".join(divided).split()) == "amen" + "x" * 100


def test_no_letter_of_thai_is_parted_from_its_vowel_or_tone() -> None:
    text = "พระเจ้าทรงรักโลกจนได้ทรงประทานพระบุตรองค์เดียวของพระองค์เพื่อทุกคนที่วางใจ"
    for before in range(LINE_CHARS):
        lines = [line for cue in divide("ก" * before + text, "th") for line in cue.split("\n")]
        assert "".join(lines) == "ก" * before + text
        assert [line for line in lines if unicodedata.category(line[0]) == "Mn"] == []


def test_a_count_is_met_as_far_as_there_are_words() -> None:
    assert len(divide(LONG, "en", LINES, 4)) == 4
    assert divide("Amen and amen.", "en", 1, 9) == ["Amen", "and", "amen."]


def test_a_quick_caption_stays_into_the_pause_and_a_slow_one_does_not() -> None:
    text = "The Lord is my shepherd, I shall not want."
    quick, slow = arrange([spoken(10, 11, text), spoken(60, 70, text)])
    assert quick == Cue(10, 10 + len(text) / CHARS_PER_S, text)
    assert slow == Cue(60, 70, text)
    (amen,) = arrange([spoken(5, 5.2, "Amen.")])
    assert amen == Cue(5, 5 + SHORTEST_S, "Amen.")


def test_the_next_caption_is_not_talked_over() -> None:
    text = "The Lord is my shepherd, I shall not want."
    first, second = arrange([spoken(10, 11, text), spoken(11.5, 15, text)])
    assert first.end_s == pytest.approx(11.5 - GAP_S)
    assert second.start_s == 11.5
    first, second = arrange([spoken(10, 14, text), spoken(12, 13, text)])
    assert (first.start_s, first.end_s, second.start_s) == (10, 14, 14)


def test_a_long_caption_shares_its_time_by_characters() -> None:
    cues = arrange([spoken(100, 112, LONG)])
    chars = [len(cue.text) for cue in cues]
    assert len(cues) > 1
    assert cues[0].start_s == 100
    assert cues[-1].end_s == pytest.approx(112)
    for cue, its in zip(cues, chars, strict=True):
        assert cue.end_s - cue.start_s == pytest.approx(12 * its / sum(chars))


def test_two_languages_share_cues_a_line_each() -> None:
    spanish = "El Señor es mi pastor, nada me faltará; y lo recordaré."
    cues = arrange([spoken(0, 8, "The Lord is my shepherd, I shall not want.", spanish)])
    assert [cue.text.count("\n") for cue in cues] == [1] * len(cues)
    assert " ".join(cue.text.split("\n")[0] for cue in cues).split()[-1] == "want."
    assert " ".join(cue.text.split("\n")[1] for cue in cues) == spanish
    one_word = arrange([spoken(0, 8, "Amen.", spanish)])
    assert [cue.text.count("\n") for cue in one_word] == [1, 0]


@pytest.mark.parametrize("text", [LONG, "Amen.", f"{LONG} {LONG}"])
def test_before_a_long_enough_pause_nothing_is_too_quick_to_read(text: str) -> None:
    for cue in arrange([spoken(0, 1, text), spoken(60, 61, text)]):
        chars = len(cue.text)
        assert chars / (cue.end_s - cue.start_s) <= CHARS_PER_S + 1e-6
        assert cue.end_s - cue.start_s > 0.8


TEXTS = st.text("aé.,;N ñ¿…3", min_size=1, max_size=300).filter(str.strip)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(
            st.floats(0, 30),
            st.floats(0, 12),
            st.lists(TEXTS, min_size=1, max_size=2),
        ),
        max_size=4,
    )
)
def test_whatever_is_said_fits_and_not_a_letter_is_lost(
    said: list[tuple[float, float, list[str]]],
) -> None:
    captions: list[Spoken] = []
    start_s = 0.0
    for pause_s, length_s, texts in said:
        start_s += pause_s
        captions.append(spoken(start_s, start_s + length_s, *texts))
        start_s += length_s
    cues = arrange(captions)
    for cue in cues:
        lines = cue.text.split("\n")
        assert len(lines) <= LINES
        assert all(0 < len(line) <= LINE_CHARS and line == line.strip() for line in lines)
        assert cue.end_s > cue.start_s
    assert all(after.start_s >= before.end_s for before, after in pairwise(cues))
    shown = sorted("".join("".join(cue.text for cue in cues).split()))
    spoken_text = "".join(text for caption in captions for _, text in caption.texts)
    assert shown == sorted("".join(spoken_text.split()))


def test_a_long_text_is_laid_out_at_once() -> None:
    """The event loop lays out text for HLS. With quadratic time it took 2 s."""
    began_s = time.thread_time()
    cues = arrange([Spoken(0.0, 10.0, (("es", "y " * 400),))])
    assert time.thread_time() - began_s < 1  # half of it where branches are counted
    assert "".join(cue.text for cue in cues).count("y") == 400


PLACES = [
    # best to worst
    ("en", "Lord.", "He", "shepherd,", "and"),
    ("en", "Lord;", "he", "Lord", "is"),
    ("en", "shepherd", "and", "my", "shepherd"),
    ("en", "shepherd", "walks", "the", "Lord"),
    ("en", "shepherd", "walks", "John", "Mark"),
    ("en", "he!”", "Then", "of", "God"),
    ("es", "pastor,", "nada", "pastor", "del"),
    ("es", "pastor", "del", "pastor", "amable"),
    ("es", "pastor", "amable", "Juan", "3:16"),
    ("es", "pastor", "amable", "del", "Señor"),
    ("es", "pastor", "amable", "«el", "Señor"),
    ("es", "dijo:", "Juan", "dijo", "Juan"),
    ("xx", "na,", "na", "na", "na"),
]


@pytest.mark.parametrize(("lang", "a", "b", "c", "d"), PLACES)
def test_a_better_place_costs_less(lang: str, a: str, b: str, c: str, d: str) -> None:
    assert break_cost(a, b, lang) < break_cost(c, d, lang)
