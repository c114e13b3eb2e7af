"""How much of a verse a spoken text quotes."""

from __future__ import annotations

import pytest

from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.passages import compare, search
from pipeline.church.scripture.verse_index import VerseIndex, words_of
from tests.support.verses import small_index

SHEPHERD = Reference(19, 23, 1)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> VerseIndex:
    return small_index(tmp_path_factory.mktemp("index"))


def test_what_was_said_around_a_quotation_does_not_count(index: VerseIndex) -> None:
    said = words_of("My mother loved this the Lord is my shepherd I shall not want and so do I")
    best = search(index, said)[0]
    assert best.reference == SHEPHERD
    assert (best.matched, best.coverage, best.share, best.run) == (9, 1.0, 1.0, 9)
    assert said[best.end] == "and"


def test_a_wrong_word_costs_coverage(index: VerseIndex) -> None:
    found = compare(index, words_of("the Lord is our good shepherd I shall not want"), SHEPHERD)
    assert found is not None
    assert (found.matched, found.coverage, found.run) == (8, 0.8, 5)


def test_nothing_in_common_is_nothing(index: VerseIndex) -> None:
    assert compare(index, ["zorbex"], SHEPHERD) is None
    assert compare(index, [], SHEPHERD) is None
    assert search(index, ["zorbex", "blubb"]) == []
    assert compare(index, ["lord"], Reference(1, 1, 1)) is None
