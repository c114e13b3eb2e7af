"""Which pairs are used for training without a person's decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.core.types import Word
from pipeline.learning.data.acceptance import (
    HALF,
    MISHEARD,
    START,
    find_bars,
    obstacle,
    with_bar,
    without_contradictions,
)
from pipeline.learning.data.pairs import LearningPair
from scripts.support.records import utterance_record

PAIR = LearningPair(
    session_id="s",
    source_lang="en",
    text="We wait for him.",
    target_lang="es",
    translation="Lo esperamos.",
    source="auto",
    status="review",
    quality_score=0.8,
    translation_qe=0.8,
    marian_agreement=0.8,
    flags=("estimate:flag",),
    model_sha256="ab",
)
NAME = PAIR.translator


@pytest.mark.parametrize(
    ("text", "following", "probability", "told"),
    [
        ("We wait for him.", "", 0.9, ""),
        ("that we wait for him.", "", 0.9, HALF),
        ("We wait for him", "", 0.9, HALF),
        ("He does not say.", "that every diagnosis is good.", 0.9, HALF),
        ("We wait for him.", "", 0.4, MISHEARD),
    ],
)
def test_half_sentences_and_misheard_words_are_left(
    text: str, following: str, probability: float, told: str
) -> None:
    record = replace(utterance_record(1, text), words=(Word("him", probability),), avg_logprob=-0.1)
    after = utterance_record(2, following) if following else None
    assert obstacle(record, text, after) == told


def test_a_translator_that_ships_has_its_own_bar_and_flags_of_other_scales_do_not_count() -> None:
    bars = find_bars([PAIR], [], {}, {NAME: 0.77})
    assert with_bar(PAIR, bars).status == "accepted"
    assert with_bar(replace(PAIR, obstacle=HALF), bars).status == "review"
    assert with_bar(replace(PAIR, translation_qe=0.7), bars).status == "moderate"


def test_a_bar_never_falls_by_itself() -> None:
    weak = [replace(PAIR, quality_score=0.5 + n / 1000) for n in range(100)]
    assert find_bars(weak, [], {}, {})[NAME].accept == START
    strong = [replace(PAIR, quality_score=0.9 + n / 2000) for n in range(100)]
    raised = find_bars(strong, [], {}, {})
    assert raised[NAME].accept == pytest.approx(0.93)
    assert find_bars(weak, [], raised, {})[NAME].accept == raised[NAME].accept


def test_people_set_the_bar_from_a_hundred_reviews_on() -> None:
    judged = [(NAME, n / 200, n < 100) for n in range(200)]
    bar = find_bars([PAIR], judged, {}, {NAME: 0.77})[NAME]
    assert 0.48 <= bar.accept <= 0.5
    assert bar.own_scale


def test_what_contradicts_a_person_or_each_other_waits() -> None:
    accepted = replace(PAIR, status="accepted")
    other = replace(accepted, translation="Le servimos.")
    assert [each.status for each in without_contradictions([accepted, other])] == ["review"] * 2
    person = replace(other, source="review")
    assert [each.status for each in without_contradictions([accepted, person])] == [
        "review",
        "accepted",
    ]
