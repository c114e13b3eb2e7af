"""Texts from elsewhere: files of two columns, as Tatoeba has them, and the Bible by verses.

Files may be plain, `.xz` or `.gz`.
"""

from __future__ import annotations

import csv
import gzip
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pipeline.core.errors import LearningError
from pipeline.learning.data.pairs import LearningPair


@dataclass(frozen=True, slots=True)
class Verse:
    """A verse in two languages, with its place."""

    book: str
    chapter: int
    number: int
    text: str
    translation: str


def read_general(path: Path, source: str, target: str) -> list[LearningPair]:
    """Return the pairs of a file with the source text, a tab and the target text in each line.

    Lines that begin with # and empty ones are left out. Raises LearningError (corpus-unreadable).
    """
    pairs = []
    for number, line in enumerate(_lines(path), 1):
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip() or line.startswith("#"):
            continue
        if len(cells) < 2 or not all(cell.strip() for cell in cells[:2]):
            message = f"{path}, line {number}: there is no tab between two texts."
            raise LearningError("corpus-unreadable", message, "Each line needs both languages.")
        pairs.append(
            LearningPair(
                session_id="",
                source_lang=source,
                text=cells[0].strip(),
                target_lang=target,
                translation=cells[1].strip(),
                source="general",
                status="accepted",
                tier="general",
            )
        )
    return pairs


def read_bible(path: Path, source_column: str, target_column: str) -> list[Verse]:
    """Return the verses of a TSV with the columns book, chapter, verse and one for each text.

    Verses that lack a text are left out. Raises LearningError (corpus-unreadable).
    """
    # Quotation marks are the verse's own: a verse may open one that another one closes.
    rows = csv.DictReader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    needed = ("book", "chapter", "verse", source_column, target_column)
    missing = [name for name in needed if name not in (rows.fieldnames or ())]
    if missing:
        there = ", ".join(rows.fieldnames or ())
        message = f"{path} has no column {missing[0]!r}."
        raise LearningError("corpus-unreadable", message, f"There are: {there}.")
    try:
        return [
            Verse(
                row["book"], int(row["chapter"]), int(row["verse"]),
                row[source_column].strip(), row[target_column].strip(),
            )
            for row in rows
            if row[source_column] and row[target_column]
        ]  # fmt: skip
    except ValueError as error:
        raise LearningError("corpus-unreadable", f"{path}: {error}.") from None


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file. Raises LearningError."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    try:
        file: TextIO
        with opener(path, "rt", encoding="utf-8", newline="") as file:  # type: ignore[operator]
            yield from file
    # EOFError: a packed file that was cut off.
    except (OSError, UnicodeDecodeError, lzma.LZMAError, EOFError) as error:
        raise LearningError("corpus-unreadable", f"{path} cannot be read: {error}.") from None
