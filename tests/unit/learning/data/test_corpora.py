"""Files of texts from elsewhere."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from pipeline.core.errors import LearningError
from pipeline.learning.data.corpora import read_bible, read_general

BIBLE = "book\tchapter\tverse\ten\tes\nRuth\t1\t1\tNow.\tEntonces.\nRuth\t1\t2\tAnd.\t\n"


def test_two_columns_are_pairs(tmp_path: Path) -> None:
    path = tmp_path / "general.tsv.xz"
    path.write_bytes(lzma.compress("# a note\nGood day.\tBuenos días.\n\n".encode()))
    (pair,) = read_general(path, "en", "es")
    assert (pair.text, pair.translation, pair.source) == ("Good day.", "Buenos días.", "general")


def test_verses_without_a_text_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bible.tsv"
    path.write_text(BIBLE)
    (verse,) = read_bible(path, "en", "es")
    assert (verse.book, verse.chapter, verse.number, verse.text) == ("Ruth", 1, 1, "Now.")


@pytest.mark.parametrize(
    ("content", "says"),
    [("no tab here\n", "line 1"), ("\xff\xfe", "cannot be read")],
)
def test_what_is_no_corpus_is_told(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "general.tsv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(LearningError, match=says) as told:
        read_general(path, "en", "es")
    assert told.value.code == "corpus-unreadable"


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bible.tsv"
    path.write_text(BIBLE)
    with pytest.raises(LearningError, match="no column 'fr'") as told:
        read_bible(path, "en", "fr")
    assert "es" in told.value.fix
    with pytest.raises(LearningError, match="cannot be read"):
        read_bible(tmp_path / "none.tsv", "en", "es")
