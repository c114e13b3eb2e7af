"""Files of texts from elsewhere."""

from __future__ import annotations

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
    with pytest.raises(LearningError, match=says) as told:
        read_general(path, "en", "es")
    assert told.value.code == "corpus-unreadable"
