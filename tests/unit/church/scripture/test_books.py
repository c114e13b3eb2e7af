"""Books, chapters, verses."""

from __future__ import annotations

from pipeline.church.scripture.books import LANGS, NAMES, PRINTED, chapters, verses
from pipeline.church.scripture.versification import VERSES


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
