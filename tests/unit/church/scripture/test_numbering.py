"""A Bible with another numbering gets the numbers of the King James Version."""

from __future__ import annotations

import pytest

from pipeline.church.scripture import editions
from pipeline.church.scripture.editions import Edition, VerseId
from pipeline.church.scripture.numbering import changes_of, read_changes, renumber, renumbered
from pipeline.core.errors import UsageError

OBADIAH = 31
"""One chapter of 21 verses."""
# Also 21 in print: 1 holds verses 1 and 2, verse 3 is printed as 2, 20 and 21 hold verse 21.
PRINTED = {(OBADIAH, 1, verse): f"Verse {verse + 1}." for verse in range(2, 20)} | {
    (OBADIAH, 1, 1): "HEADING. VERSE 1. Verse 2.",
    (OBADIAH, 1, 20): "Verse 21,",
    (OBADIAH, 1, 21): "to its end. Written at Rome.",
    (19, 1, 1): "A Psalm. Blessed.",
}
CHANGES = """
# of somebody
mine\treword\t31.1.1\tHEADING. VERSE\tVerse
mine\tcut\t31.1.1\tVerse 2
mine\tjoin\t31.1.21
mine\treword\t31.1.21\tWritten at Rome.
mine\treword\t19.1.1\tA Psalm.
mine\tadd\t19.1.2\tBut his delight
other\tadd\t19.1.3\tAnd he shall be
"""


def changed(changes: str) -> dict[editions.VerseId, str]:
    return renumber(PRINTED, read_changes(changes, "mine"))


def test_verses_are_cut_joined_reworded_and_counted_off() -> None:
    counted = {(OBADIAH, 1, verse): f"Verse {verse}." for verse in range(1, 21)}
    assert changed(CHANGES) == counted | {
        (OBADIAH, 1, 21): "Verse 21, to its end.",
        (19, 1, 1): "Blessed.",
        (19, 1, 2): "But his delight",
    }


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ("mine\tcut\t31.1.1\tVerse 2", "has 22 verses"),
        ("mine\tjoin\t31.1.2", "has 20 verses"),
        ("mine\tcut\t31.1.1\tVerse 9", "'Verse 9' once"),
        ("mine\treword\t31.1.1\tVERSE 1. Verse 2. Verse", "once"),
        ("mine\tcut\t31.1.1\tE", "'E' once"),
        ("mine\treword\t31.2.1\tVerse", "is not there"),
        ("mine\tadd\t31.1.1\tVerse", "it is there"),
    ],
)
def test_a_change_that_does_not_fit_is_told(changes: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        changed(changes)
    assert error.value.code == "change-unfitting"
    assert what in error.value.message


@pytest.mark.parametrize("line", ["mine", "mine\tmove\t1.1.1\tx", "mine\tcut\t1.1\tx"])
def test_a_line_that_is_no_change_is_told(line: str) -> None:
    with pytest.raises(UsageError) as error:
        read_changes(f"# changes\n{line}", "mine")
    assert error.value.code == "change-malformed"
    assert "Line 2" in error.value.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rv1909", "kjv", "nheb"])
def test_the_changes_are_in_what_ships(name: str) -> None:
    changes = changes_of(name)
    verses = editions.load(name).verses
    text = list(verses.values())
    assert changes
    for change in changes:
        if change.kind == "add":
            assert verses[change.place] == change.words
        elif change.kind == "cut":
            assert any(each.startswith(change.words) for each in text), change
        elif change.kind == "reword" and not change.instead:
            assert change.words not in verses[change.place], change


def hebrew(text: dict[VerseId, str]) -> dict[VerseId, str]:
    """Return Joel, Malachi and Psalms as Hebrew and many European Bibles number them."""
    found = {place: each for place, each in text.items() if place[0] not in (19, 29, 39)}
    for (book, chapter, verse), each in text.items():
        if book == 19:  # the heading is one verse in most psalms, two in some
            more = {51: 2, 52: 2, 54: 2, 60: 2}.get(chapter, int(3 <= chapter <= 9))
            found |= {(19, chapter, n): "Salmo de David." for n in range(1, more + 1)}
            found[19, chapter, verse + more] = each
        elif book == 29:
            place = (3, verse - 27) if (chapter, verse) > (2, 27) and chapter == 2 else None
            place = place or ((chapter + 1, verse) if chapter == 3 else (chapter, verse))
            found[29, *place] = each
        elif book == 39:
            found[39, *((3, verse + 18) if chapter == 4 else (chapter, verse))] = each
    return found


@pytest.mark.slow
def test_a_bible_that_counts_as_the_hebrew_one_gets_our_numbers() -> None:
    kjv = dict(editions.load("kjv").verses)
    theirs = hebrew(kjv)
    assert theirs[29, 4, 1] == kjv[29, 3, 1]
    assert theirs[39, 3, 19] == kjv[39, 4, 1]
    assert theirs[19, 51, 3] == kjv[19, 51, 1]
    ours, changed = renumbered(theirs)
    assert (ours == kjv, changed) == (True, [19, 29, 39])
    assert renumbered(kjv) == (kjv, [])


@pytest.mark.slow
def test_a_book_with_a_verse_more_or_less_keeps_its_numbers_and_is_named() -> None:
    """Nobody can tell where its numbering starts to differ."""
    theirs = hebrew(dict(editions.load("kjv").verses))
    del theirs[39, 3, 5]
    kept, changed = renumbered(theirs)
    assert changed == [19, 29]
    assert kept[39, 3, 24] == theirs[39, 3, 24]
    lacking = editions.lacking(Edition("x", "es", "X", "ours", kept))
    assert lacking == [(39, 3, 5), *((39, 4, verse) for verse in range(1, 7))]


@pytest.mark.slow
def test_the_printed_reina_valera_gets_the_changes_that_ship() -> None:
    """Numbers 12:16 and 29:40 are printed as 13:1 and 30:1; both chapters end in a joined verse."""
    ours = {p: text for p, text in editions.load("rv1909").verses.items() if p[0] == 4}
    printed = dict(ours)
    for chapter, last, before in ((13, 33, (4, 12, 16)), (30, 16, (4, 29, 40))):
        del printed[before]
        first = ours[before].split()
        printed[4, chapter, 1] = " ".join([first[0], first[1].upper(), *first[2:]])
        for verse in range(1, last - 1):
            printed[4, chapter, verse + 1] = ours[4, chapter, verse]
        end = ours[4, chapter, last - 1], ours[4, chapter, last]
        printed[4, chapter, last] = " ".join(end)
    assert printed != ours
    assert renumbered(printed) == (ours, [4])
    assert renumbered(ours) == (ours, [])
