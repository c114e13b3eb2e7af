"""Read a Bible's file that a publisher has made, in a process of its own."""

from __future__ import annotations

from pathlib import Path

from pipeline.church import edition_formats, editions, sword
from pipeline.core.errors import VersesError
from pipeline.core.files import read_at_most
from pipeline.core.limited import Limits, call

LIMITS = Limits(seconds=60, memory_bytes=2 << 30)
"""The whole Bible in OSIS with a mark at every word, 38 MB, takes 6 s and 0.3 GB."""


async def read(file: Path) -> dict[editions.VerseId, str]:
    """Return the verses of a file or of a SWORD module. Raises VersesError."""

    def failed(what: str) -> VersesError:
        fix = "Is it one Bible, in OSIS, Zefania, USFM, a SWORD module or lines with tabs?"
        return VersesError("verses-unreadable", f"{file} {what}.", fix)

    rows = await call(LIMITS, failed, read_here, file)
    return {(book, chapter, verse): text for book, chapter, verse, text in rows}


def read_here(file: Path) -> list[tuple[int, int, int, str]]:
    """Return book, chapter, verse and text of each verse, in this process. Raises VersesError."""
    if sword.is_module(file):
        verses = sword.read(file)
    else:
        verses = edition_formats.parse(_text(file), str(file))
    return [(*place, text) for place, text in verses.items()]


def _text(file: Path) -> str:
    try:
        content = read_at_most(file, editions.MOST_BYTES)
        if content is None:
            raise VersesError("verses-too-large", f"{file} is too large for a Bible.")
        # Windows marks what it writes.
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{file} cannot be read: {error}."
        raise VersesError("verses-unreadable", message, "Give a text file in UTF-8.") from None
