"""A Bible in another numbering gets that of the King James Version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.scripture import editions
from pipeline.church.scripture.editions import Edition
from pipeline.core.errors import UsageError
from pipeline.core.resources import bundled
from scripts.quality.verse_numbering import main, read_changes, renumber

OBADIAH = 31
"""One chapter of 21 verses."""
# Printed as 21 as well, but 1 holds 1 and 2, and 20 and 21 are 21; so 3 is printed as 2.
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
    changes = read_changes(bundled("verses", "changes.txt").read_text(encoding="utf-8"), name)
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


@pytest.mark.slow
def test_an_edition_is_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = read_changes(bundled("verses", "changes.txt").read_text(encoding="utf-8"), "kjv")
    lacking = Edition("kjv", "en", "King James", "public domain", {(1, 1, 1): "In the beginning."})
    before = editions.write(lacking, tmp_path)
    assert main(["kjv", str(before), "--to", str(tmp_path / "out")]) == 0
    assert "18 changes, 1 verses before, 19 now" in capsys.readouterr().out
    found = editions.read(tmp_path / "out" / "kjv.tsv.xz", "kjv")
    assert found == replace(lacking, verses=renumber(lacking.verses, changes))
