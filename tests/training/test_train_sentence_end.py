"""Fitting the predictor of a sentence's end."""

from __future__ import annotations

import random

from pipeline.core.resources import bundled
from pipeline.text.sentences import ENOUGH_WORDS, features
from training.train.train_sentence_end import LANGS, cases, fit


def test_a_whole_sentence_is_over_and_a_cut_one_goes_on() -> None:
    text = ["God is good to all who call on him, and he hears the poor."] * 20
    found = list(cases(text, "en", random.Random(1)))
    assert {said[-1] == "poor" for said, on in found if not on} == {True}
    assert not any(said[-1] == "poor" for said, on in found if on)
    assert sum(not on for _, on in found) == 20


def test_what_only_unfinished_texts_end_with_has_the_weight() -> None:
    found = [
        (["bread", "of", "the"], True),
        (["we", "have", "bread"], False),
        (["and", "bread"], False),
    ] * 60
    _, weights, area = fit(found)
    assert weights["last the"] > 0 > weights["last bread"]
    assert area == 1.0


def test_every_language_of_the_sentences_has_its_file() -> None:
    assert all((bundled("languages", "endings") / f"{lang}.json").is_file() for lang in LANGS)
    assert "count more" in features(["a"] * (ENOUGH_WORDS - 1))
