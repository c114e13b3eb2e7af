"""Read the files of a Bible that a publisher has made, in a process of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.church.scripture import edition_formats, editions, sword
from pipeline.core.errors import VersesError, reading
from pipeline.core.files import read_at_most
from pipeline.core.limited import Limits, call

LIMITS = Limits(seconds=180, memory_bytes=2 << 30)
"""The whole Bible in OSIS with a mark at every word, 38 MB, takes 6 s and 0.3 GB, and six
times as long where other programs want the processor."""


async def read(files: Sequence[Path]) -> dict[editions.VerseId, str]:
    """Return the verses of files and SWORD modules together. Raises VersesError."""
    more = f" or one of the {len(files) - 1} others" if len(files) > 1 else ""

    def failed(what: str) -> VersesError:
        fix = "Is it one Bible, in OSIS, Zefania, USFM, a SWORD module or lines with tabs?"
        return VersesError("verses-unreadable", f"{files[0]}{more} {what}.", fix)

    rows = await call(LIMITS, failed, read_here, files)
    # The other process answers in JSON, whose keys can only be texts: so it sends rows.
    return {(book, chapter, verse): text for book, chapter, verse, text in rows}


def read_here(files: Sequence[Path]) -> list[tuple[int, int, int, str]]:
    """Return book, chapter, verse and text of each verse, in this process. Raises VersesError."""
    verses: dict[editions.VerseId, str] = {}
    # Where two files have a verse the later one's counts.
    for file in files:
        if sword.is_module(file):
            verses |= sword.read(file)
        else:
            verses |= edition_formats.parse(_text(file), str(file))
    return [(*place, text) for place, text in verses.items()]


def _text(file: Path) -> str:
    fix, wrong = "Give a text file in UTF-8.", (UnicodeDecodeError,)
    with reading(file, VersesError, "verses-unreadable", fix, wrong):
        content = read_at_most(file, editions.MOST_BYTES)
        if content is None:
            raise VersesError("verses-too-large", f"{file} is too large for a Bible.")
        # Windows marks what it writes.
        return content.decode("utf-8-sig")
