"""The lexicon that is counted in pairs of sentences."""

from __future__ import annotations

import pytest

from training.data.corpora import Pair
from training.data.lexicon import lexicon

pytestmark = pytest.mark.train


def test_each_word_gets_the_translations_that_only_it_explains() -> None:
    animals = {"lamb": "cordero", "goat": "cabra", "donkey": "asno", "wolf": "lobo"}
    acts = {"sleeps": "duerme", "eats": "come", "waits": "espera"}
    pairs = [
        Pair(f"The {a} {b} {n}", f"El {x} {y} {n}", "talk")
        for a, x in animals.items()
        for b, y in acts.items()
        for n in ("here", "there")
    ]
    # Neither too common nor too rare: each animal is in 6 of 1,224 sentences.
    pairs += [Pair("We sing", "Cantamos", "talk")] * 1200
    found = dict(line.split(" ", 1) for line in lexicon(pairs).splitlines())
    assert found["lamb"].startswith("corde")
    assert found["wait"].startswith("esper")
    assert "sing" not in found  # its translation stands in most sentences


def test_a_word_of_few_sentences_is_left_out() -> None:
    pairs = [Pair("A lamb", "Un cordero", "talk")] * 5 + [Pair("We sing", "Cantamos", "talk")] * 500
    assert lexicon(pairs) == ""
