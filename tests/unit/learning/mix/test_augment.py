"""The augmentation of pairs before training."""

from __future__ import annotations

import random
from dataclasses import replace

from pipeline.dictionary.rules import Rule
from pipeline.learning.data.terms import Confusion
from pipeline.learning.mix.augment import (
    Example,
    as_heard,
    joined,
    near_words,
    noisy,
    prefix,
    rule_sounds,
    with_terms,
)

PAIR = Example(
    source="The prophet Ezekiel saw the glory of the Lord.",
    target="El profeta Ezequiel vio la gloria del Señor.",
    part="sermon",
)
SOUNDS = rule_sounds([], [Confusion("Ezekiel", "easy kill", 3)])


def test_a_source_gets_the_mistakes_that_our_recognizer_makes() -> None:
    assert as_heard(PAIR, SOUNDS, 0.05, random.Random(1)).startswith("The prophet easy kill saw")
    assert as_heard(PAIR, {}, 0.05, random.Random(1)) == PAIR.source


def test_what_was_heard_is_better_than_what_might_have_been() -> None:
    heard = Example(source="Ezekiel.", target="Ezequiel.", part="sermon", heard="a seagull")
    assert as_heard(heard, SOUNDS, 0.05, random.Random(1)) == "a seagull"


def test_no_more_words_are_misheard_than_their_share() -> None:
    text = " ".join(f"w{n}" for n in range(100))
    sounds = {f"w{n}": [f"x{n}"] for n in range(100)}
    made = as_heard(Example(source=text, target="", part="bible"), sounds, 0.05, random.Random(1))
    changed = sum(a != b for a, b in zip(text.split(), made.split(), strict=True))
    assert changed == 5


def test_a_prefix_is_cut_at_the_same_share_of_both_sides() -> None:
    for seed in range(20):
        cut = prefix(PAIR, random.Random(seed))
        assert cut is not None
        count = len(cut.source.split())
        assert 3 <= count < len(PAIR.source.split())
        assert PAIR.source.startswith(cut.source)
        assert PAIR.target.startswith(cut.target)
        share = len(cut.target.split()) / len(PAIR.target.split())
        assert abs(share - count / len(PAIR.source.split())) < 0.1
        assert not cut.source.endswith(".")
    assert (
        prefix(Example(source="Let us pray.", target="Oremos.", part="sermon"), random.Random(1))
        is None
    )


def test_terms_are_written_into_the_source_only_as_they_are_translated() -> None:
    glossary = {"ezekiel": "Ezequiel", "glory of the lord": "gloria del Señor", "saw": "miró"}
    marked = with_terms(PAIR, glossary)
    assert marked is not None
    assert marked.source == (
        "The prophet Ezekiel [Ezequiel] saw the glory of the Lord [gloria del Señor]."
    )
    assert with_terms(PAIR, {"grace": "gracia"}) is None


def test_sentences_are_joined_as_they_were_said() -> None:
    after = Example(source="Amen.", target="Amén.", part="sermon", heard="a man")
    both = joined([PAIR, after])
    assert both.source == f"{PAIR.source} Amen."
    assert both.heard == f"{PAIR.source} a man"


def test_the_dictionarys_misheard_forms_are_sounds_too() -> None:
    rule = Rule("ezekiel", ("a seagull", "easy kill"), "Ezekiel")
    assert rule_sounds([rule], [Confusion("Ezekiel", "is a kill", 1)]) == {
        "ezekiel": ["is a kill", "a seagull", "easy kill"]
    }


def test_a_name_that_is_heard_as_itself_is_no_mishearing() -> None:
    assert rule_sounds([Rule("ezra", ("Ezra",), "Ezra")], []) == {}


def test_noise_is_words_that_are_spelt_nearly_alike() -> None:
    near = near_words(["we will wait for him", "a white wall", "he went with wit"])
    assert "went" not in near["wait"]
    assert "wit" in near["wait"]
    text = noisy(replace(PAIR, source="they shall wait"), near, random.Random(1))
    assert text == "they shall wait", "too short"
    text = noisy(
        replace(PAIR, source="and they shall wait there"), {"wait": ["white"]}, random.Random(3)
    )
    assert len(text.split()) in (4, 5)
