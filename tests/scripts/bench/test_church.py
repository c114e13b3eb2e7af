"""The church benchmark: its sets are large enough, and its readings are what it says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scripts.bench.church import terms
from scripts.bench.church.__main__ import noisy, plain, read_out, spoken
from tests.support.verses import small_index, some_of


def test_the_sets_have_no_sentence_twice() -> None:
    for texts in ([text for text, _ in spoken("en")], plain()):
        assert len(set(texts)) == len(texts) >= 150


def test_noise_changes_about_the_share_of_words_that_it_says() -> None:
    words = [f"w{n}" for n in range(2000)]
    assert noisy(words, 0.0, ["x"], random.Random(1)) == words
    kept = [word for word in noisy(words, 0.3, ["x"], random.Random(1)) if word != "x"]
    assert len(kept) == pytest.approx(2000 * (1 - 0.3 * 0.8), abs=60)


@pytest.mark.slow
def test_clean_readings_with_their_reference_are_known(tmp_path: Path) -> None:
    index = small_index(tmp_path)
    count = read_out(index, some_of("kjv"), 0.0, with_reference=True, talk=plain(), readings=10)
    assert count.readings == 10
    assert count.readings_known == 10
    assert count.wrong_aired == 0


@pytest.mark.slow
def test_every_sentence_of_the_glossarys_part_has_a_church_word() -> None:
    glossary, texts = terms.shipped_glossary(), terms.spoken()
    assert len(set(texts)) == len(texts) >= 200
    assert [text for text in texts if not glossary.find(text)] == []
    assert len({term.term for text in texts for term in glossary.find(text)}) >= 230
