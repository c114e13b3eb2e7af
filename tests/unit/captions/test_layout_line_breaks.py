"""Where a text may be broken."""

from __future__ import annotations

import pytest

from pipeline.captions.layout import break_cost

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
