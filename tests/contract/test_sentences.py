"""docs/sentences.tsv has the pages' texts in every language."""

from __future__ import annotations

import csv

from scripts.docs.make_sentences import FILE, LANGS, text


def test_the_table_is_that_of_the_pages_and_has_no_gaps() -> None:
    kept = FILE.read_text("utf-8")
    assert kept == text(), "run: python -m scripts.docs.make_sentences"
    rows = list(csv.DictReader(kept.splitlines(), delimiter="\t"))
    assert [row["key"] for row in rows if not all(row[lang] for lang in LANGS)] == []
    assert {row["where"].rpartition("/")[2] for row in rows} == {"words", "words.js"}
    assert len(rows) > 250
