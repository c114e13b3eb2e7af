"""Books, chapters, verses."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from pipeline.church.scripture import books
from pipeline.church.scripture.books import (
    LANGS,
    NAMES,
    PRINTED,
    VERSES,
    chapters,
    misspelled,
    verses,
)
from pipeline.core import language_words
from pipeline.core.language_words import LanguageWords


def test_the_bible_has_66_books_1189_chapters_and_31102_verses() -> None:
    assert {lang: len(PRINTED[lang]) for lang in LANGS} == dict.fromkeys(("en", "es", "fr"), 66)
    assert sum(map(len, VERSES)) == 1189
    assert sum(map(sum, VERSES)) == 31_102
    assert (PRINTED["en"][18], PRINTED["es"][65]) == ("Psalm", "Apocalipsis")


def test_chapters_and_verses_that_are_not_there() -> None:
    assert (chapters(43), verses(43, 3), verses(43, 22), verses(43, 0)) == (21, 36, 0, 0)
    assert verses(43, -1) == 0


def test_a_longer_name_is_tried_first() -> None:
    lengths = [[len(name.words) for name in names] for names in NAMES["en"].values()]
    assert all(each == sorted(each, reverse=True) for each in lengths)


def test_a_slip_in_a_long_name_is_that_book_and_counts_as_a_common_word() -> None:
    for word, ordinal, number in (("phillipians", 0, 50), ("corinthian", 2, 47), ("hebrew", 0, 58)):
        name = misspelled(word, ordinal, "en")
        assert name is not None
        assert (name.number, name.ordinal, name.is_common) == (number, ordinal, True)
    others = [
        ("corinthian", 0),
        ("corinthians", 3),
        ("romance", 0),
        ("isaia", 0),
        ("phillipians", 1),
    ]
    assert [misspelled(word, ordinal, "en") for word, ordinal in others] == [None] * len(others)


def test_a_language_with_books_alone_has_no_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing section leaves out what needs it, and breaks nothing."""
    only_books = LanguageWords(books=language_words.WORDS["es"].books)
    monkeypatch.setattr(language_words, "WORDS", {**language_words.WORDS, "pt": only_books})
    spec = importlib.util.spec_from_file_location("books_of_pt", books.__file__)
    assert spec
    assert spec.loader
    again = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "books_of_pt", again)
    spec.loader.exec_module(again)
    assert again.LANGS == books.LANGS
    assert again.PRINTED["pt"][42] == "Juan"
