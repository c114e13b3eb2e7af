"""Which doubtful captions come first."""

from __future__ import annotations

from dataclasses import replace

from pipeline.core.types import Word
from pipeline.review.store import priority
from pipeline.session.training_pairs import Pair, pair_of
from tests.support.utterances import draft, final, kept

MADE = pair_of(kept(final(), draft()), "s")
assert MADE is not None
PAIR: Pair = replace(MADE, source="The letter to the Romans.", stt_confidence=0.8)


def test_disagreement_terms_and_doubt_each_raise_it() -> None:
    usual = priority(PAIR, (), [])
    assert priority(replace(PAIR, marian_agreement=0.2), (), []) > usual
    assert priority(PAIR, (), ["Romans"]) > usual
    assert priority(PAIR, (Word("Romans", 0.1),), []) > usual
    assert priority(PAIR, (), ["Romania"]) == usual


def test_without_measures_the_lowest_score_comes_first() -> None:
    bare = replace(PAIR, marian_agreement=None, stt_confidence=None)
    ranks = [priority(replace(bare, score=score), (), []) for score in (None, 0.3, 0.6)]
    assert ranks == sorted(ranks, reverse=True)


def test_a_term_is_worth_a_look_although_all_seems_well() -> None:
    sure = replace(PAIR, marian_agreement=1.0, stt_confidence=1.0)
    assert priority(sure, (), ["Romans"]) > priority(sure, (), []) > 0
