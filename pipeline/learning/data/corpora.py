"""Outside corpora: two-column files like those of Tatoeba, and the Bible by verses.

Files may be plain, `.xz` or `.gz`.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pipeline.church.scripture import editions
from pipeline.core.errors import LearningError, VersesError, reading
from pipeline.learning.data.pairs import LearningPair


@dataclass(frozen=True, slots=True)
class Verse:
    """A verse in two languages, with its reference."""

    book: str
    chapter: int
    number: int
    text: str
    translation: str


def read_general(path: Path, source: str, target: str) -> list[LearningPair]:
    """Return the pairs of a file with the source text, a tab and the target text in each line.

    Empty lines and lines that begin with # are skipped. Raises LearningError (corpus-unreadable).
    """
    pairs = []
    for number, line in enumerate(_lines(path), 1):
        cells = line.rstrip("\r\n").split("\t")
        # Before the check: such lines need no tab.
        if not line.strip() or line.startswith("#"):
            continue
        # More columns are allowed; those after the two texts are ignored.
        if len(cells) < 2 or not all(cell.strip() for cell in cells[:2]):
            message = f"{path}, line {number}: there is no tab between two texts."
            raise LearningError("corpus-unreadable", message, "Each line needs both languages.")
        pairs.append(_pair(cells[0], source, cells[1], target))
    return pairs


def _pair(text: str, source: str, translation: str, target: str) -> LearningPair:
    return LearningPair(
        session_id="",
        source_lang=source,
        text=text.strip(),
        target_lang=target,
        translation=translation.strip(),
        source="general",
        status="accepted",
        tier="general",
    )


def read_columns(path: Path, source: str, target: str) -> list[LearningPair]:
    """Return the pairs of a file whose first line names the languages of its columns.

    Return [] if there is no such file, as in an installed program, or if a language is missing.
    Raises LearningError (corpus-unreadable).
    """
    if not path.exists():
        return []
    # Without quoting: quotation marks belong to the sentences.
    rows = csv.DictReader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    if not {source, target} <= set(rows.fieldnames or ()):
        return []
    return [
        _pair(row[source], source, row[target], target)
        for row in rows
        if row[source] and row[target]
    ]


def shipped_bibles(source: str, target: str) -> list[list[Verse]]:
    """Return the shipped Bibles in the source language, each paired with one in the target.

    The modern ones come first; [] if a language has no Bible. Raises LearningError.
    """
    try:
        every = [editions.read(file, name) for name, file in editions.files().items()]
    except VersesError as error:
        raise LearningError("corpus-unreadable", error.message, error.fix) from None
    made = next((each for each in every if each.lang == target), None)
    said = [each for each in every if each.lang == source]
    if made is None:
        return []
    # Of the shipped Bibles, only the King James is archaic.
    return [
        [
            Verse(str(at[0]), at[1], at[2], text, made.verses[at])
            for at, text in edition.verses.items()
            # Versions number and omit verses differently: only verses in both make a pair.
            if text and made.verses.get(at)
        ]
        for edition in sorted(said, key=lambda each: each.name == "kjv")
    ]


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file. Raises LearningError."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    # EOFError means a truncated compressed file; zlib has its own error for damaged content.
    wrong = (UnicodeDecodeError, lzma.LZMAError, zlib.error, EOFError)
    file: TextIO
    with (
        reading(path, LearningError, "corpus-unreadable", wrong=wrong),
        # Windows programs put a byte order mark first, which would join the first word.
        opener(path, "rt", encoding="utf-8-sig", newline="") as file,  # type: ignore[operator]
    ):
        yield from file
