"""Consecutive blocks: where speech begins and ends, and the silences between."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.audio.stretch import Stretch
from pipeline.core.types import BLOCK_SAMPLES, AudioBlock


def stretch(signs: str, lead: int = 0) -> Stretch:
    """Return a stretch in which "x" is a voiced block and "." is not."""
    made = Stretch(lead=lead)
    for index, sign in enumerate(signs):
        block = AudioBlock(index * BLOCK_SAMPLES, np.zeros(BLOCK_SAMPLES, np.float32))
        made.add(block, 0.9 if sign == "x" else 0.1, voiced=sign == "x")
    return made


@pytest.mark.parametrize(
    ("signs", "lead", "start", "end", "silence"),
    [("..xx.x..", 2, 2, 6, 2), ("xxx", 0, 0, 3, 0), ("...", 2, 2, 2, 1), ("", 0, 0, 0, 0)],
)
def test_speech_is_between_the_first_and_the_last_voiced_block(
    signs: str, lead: int, start: int, end: int, silence: int
) -> None:
    made = stretch(signs, lead)
    assert (made.speech_start, made.speech_end(len(made)), made.silence) == (start, end, silence)


def test_silences_inside_count_from_two_blocks_on() -> None:
    made = stretch("..xx.x..xxx.....x...", lead=2)
    assert made.pauses(len(made)) == (2, 5)
    assert made.pauses(12) == (2,)
    assert stretch("....").pauses(4) == ()


def test_what_is_split_off_has_no_pre_roll() -> None:
    made = stretch("..xx.x", lead=2)
    rest = made.split(3)
    assert (len(rest), rest.lead, rest.voiced) == (3, 0, [True, False, True])
    assert rest.blocks[0] is made.blocks[3]
    assert rest.probabilities == made.probabilities[3:]


@pytest.mark.parametrize(
    ("signs", "at"),
    [
        ("x" * 100, 60),
        ("x" * 63 + "." + "x" * 36, 63),
        ("x" * 63 + "..." + "x" * 34, 65),
        ("x" * 52 + "..." + "x" * 45, 54),
        ("x" * 40 + "..." + "x" * 57, 60),  # too far away
    ],
)
def test_where_a_sentence_ends_it_is_cut_in_the_nearest_pause(signs: str, at: int) -> None:
    assert stretch(signs).best_cut(4, [30, 60]) == at
