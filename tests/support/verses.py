"""A small verse index, and readings from it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.editions import Edition
from pipeline.church.scripture.verse_index import VerseIndex

BOOKS = {19, 43, 57}
"""Psalms, John, Philemon."""


@cache
def some_of(name: str) -> Edition:
    """Return a shipped edition with few of its books."""
    whole = editions.load(name)
    few = {place: text for place, text in whole.verses.items() if place[0] in BOOKS}
    return replace(whole, verses=few)


def small_index(folder: Path) -> VerseIndex:
    """Build an index of these books where the program looks for the English one.

    It counts as made from the current editions, so that no service builds a full index.
    """
    place = folder / "stark-translate" / "verses" / "en"
    return verse_index.build([some_of("kjv")], place, verse_index.sources("en"))
