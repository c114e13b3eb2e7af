"""Corpus files from other sources."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from pipeline.core.errors import LearningError
from pipeline.learning.data.corpora import read_general


def test_two_columns_are_pairs(tmp_path: Path) -> None:
    path = tmp_path / "general.tsv.xz"
    path.write_bytes(lzma.compress("# a note\nGood day.\tBuenos días.\n\n".encode()))
    (pair,) = read_general(path, "en", "es")
    assert (pair.text, pair.translation, pair.source) == ("Good day.", "Buenos días.", "general")


@pytest.mark.parametrize(
    ("content", "says"),
    [("no tab here\n", "line 1"), ("\xff\xfe", "cannot be read")],
)
def test_what_is_no_corpus_is_told(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "general.tsv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(LearningError, match=says) as raised:
        read_general(path, "en", "es")
    assert raised.value.code == "corpus-unreadable"


def test_a_packed_file_that_is_damaged_is_told(tmp_path: Path) -> None:
    path = tmp_path / "general.tsv.gz"
    packed = bytearray(gzip.compress("Good day.\tBuenos días.\n".encode() * 50, mtime=0))
    packed[12:16] = b"\xff\xff\xff\xff"
    path.write_bytes(packed)
    with pytest.raises(LearningError) as raised:
        read_general(path, "en", "es")
    assert raised.value.code == "corpus-unreadable"


def test_the_mark_that_windows_puts_before_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "general.tsv"
    path.write_text("# a note\nGood day.\tBuenos días.\n", "utf-8-sig")
    assert [pair.text for pair in read_general(path, "en", "es")] == ["Good day."]
