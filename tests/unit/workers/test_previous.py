"""Which sentence is the previous one when a sentence is translated."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from pipeline.config.schema import Church
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.engines.protocols import SentencePair
from pipeline.workers.previous import PreviousCaptions


def said(id: int, text: str, *, from_s: float, to_s: float, lang: str = "en") -> Caption:  # noqa: A002
    first, end = round(from_s * SAMPLE_RATE), round(to_s * SAMPLE_RATE)
    utterance = Utterance(id, 1, True, "silence", first, end, np.zeros(1, np.float32))
    transcript = Transcript(utterance, lang, text, text, Recognition(text))
    return Caption(transcript, "es", f"{text} ya", "gemma", final=True)


LETTER = said(1, "The letter came.", from_s=0.0, to_s=2.0)
TWO = said(1, "He ran. He fell.", from_s=0.0, to_s=2.0)
READ = said(2, "I read it.", from_s=3.0, to_s=4.0)
PAIR = SentencePair("The letter came.", "The letter came. ya")


@pytest.mark.parametrize(
    ("made", "now", "previous"),
    [
        ([], READ, None),
        ([LETTER], READ, PAIR),
        # Speech has returned to the second one: its previous sentence stays the same.
        ([LETTER, READ, READ], READ, PAIR),
        ([TWO], READ, SentencePair("He fell.", "He fell. ya")),
        ([LETTER], said(2, "I read it.", from_s=9.0, to_s=10.0), None),
        ([LETTER], said(3, "I read it.", from_s=3.0, to_s=4.0), None),
        ([LETTER], said(2, "La leí.", from_s=3.0, to_s=4.0, lang="es"), None),
        ([said(1, "so " * 31, from_s=0.0, to_s=2.0)], READ, None),
    ],
)
def test_the_sentence_before_is_that_of_the_utterance_before(
    made: list[Caption], now: Caption, previous: SentencePair | None
) -> None:
    captions = PreviousCaptions()
    for caption in made:
        captions.add(caption)
    assert captions.before(now.transcript, Church()) == previous


def test_where_doubtful_finals_are_held_nothing_follows_from_them() -> None:
    captions = PreviousCaptions()
    captions.add(LETTER)
    assert captions.before(READ.transcript, Church(hold_doubtful=True)) is None


def test_a_caption_that_was_being_made_while_all_was_forgotten_is_followed_by_nothing() -> None:
    captions = PreviousCaptions()
    captions.forget()
    captions.add(LETTER)
    assert captions.before(READ.transcript, Church()) is None
    later = replace(READ.transcript.utterance, closed_s=time.monotonic())
    captions.add(replace(READ, transcript=replace(READ.transcript, utterance=later)))
    third = said(3, "It was sad.", from_s=5.0, to_s=6.0)
    assert captions.before(third.transcript, Church()) is not None
