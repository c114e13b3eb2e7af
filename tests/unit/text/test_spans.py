"""Stretches of a text."""

from __future__ import annotations

import pytest

from pipeline.text.spans import is_free


@pytest.mark.parametrize(
    ("span", "free"), [((0, 3), True), ((3, 5), False), ((4, 9), False), ((9, 9), True)]
)
def test_a_stretch_is_free_where_it_overlaps_none(span: tuple[int, int], free: bool) -> None:
    assert is_free(span, [(4, 6), (7, 9)]) is free
    assert is_free(span, [])
