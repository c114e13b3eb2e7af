"""Bibles in files: those that ship, and those that a church has added.

The first line of a file is `# language<TAB>title<TAB>licence`. Each other line is one verse,
`book<TAB>chapter<TAB>verse<TAB>text` with the book's number. It may be compressed (`.tsv.xz`).
"""

from __future__ import annotations

import lzma
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from pipeline.church.scripture.books import VERSES, Reference, verses
from pipeline.core.errors import VersesError, reading, writing
from pipeline.core.files import write_whole
from pipeline.core.resources import bundled
from pipeline.text.words import closed_up

_ENDINGS = (".tsv.xz", ".tsv")
_LINE = re.compile(r"(\d{1,3})\t(\d{1,3})\t(\d{1,3})(?:\t(.*))?")
"""Book, chapter, verse and text."""
MOST_BYTES = 64 << 20
"""A Bible has 5 MB; a larger file than this is something else."""

VerseId = tuple[int, int, int]
"""Book, chapter, verse."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A Bible."""

    name: str
    """The name in the settings: the file name without its extension."""
    lang: str
    title: str
    licence: str
    verses: Mapping[VerseId, str]

    def text(self, reference: Reference) -> str:
        """Return the verses of a reference one after the other, "" if one is missing."""
        last = reference.last or reference.verse
        ids = [(reference.book, reference.chapter, v) for v in range(reference.verse, last + 1)]
        texts = [self.verses.get(each, "") for each in ids]
        return closed_up(" ".join(texts)) if reference.verse and all(texts) else ""


def own_directory() -> Path:
    """Return where a church's own editions are: ~/.local/share/stark-translate/verses."""
    return _home("XDG_DATA_HOME", ".local/share") / "stark-translate" / "verses"


def cache_directory() -> Path:
    """Return where the indexes are: ~/.cache/stark-translate/verses."""
    return _home("XDG_CACHE_HOME", ".cache") / "stark-translate" / "verses"


def _home(variable: str, below: str) -> Path:
    named = os.environ.get(variable, "")
    # The XDG Base Directory Specification says that relative paths are ignored.
    return Path(named) if Path(named).is_absolute() else Path.home() / below


def files() -> dict[str, Path]:
    """Return every edition's file by name; a church's own file hides one that ships."""
    found: dict[str, Path] = {}
    for folder in (bundled("verses"), own_directory()):
        # A later entry hides an earlier one of the same name.
        for ending in reversed(_ENDINGS):
            for file in sorted(folder.glob(f"*{ending}")) if folder.is_dir() else ():
                found[file.name.removesuffix(ending)] = file
    return found


def load(name: str) -> Edition:
    """Return an edition. Raises VersesError."""
    there = files()
    if name not in there:
        message = f"There is no edition {name!r}."
        fix = f"Known: {', '.join(sorted(there))}. `stark-translate verses add` takes a new one."
        raise VersesError("verses-unknown", message, fix)
    return read(there[name], name)


def for_language(lang: str, name: str = "") -> Edition:
    """Read the edition to show in a language (see `find`). Raises VersesError."""
    known, file = find(lang, name)
    return read(file, known)


def find(lang: str, name: str = "") -> tuple[str, Path]:
    """Return name and file of the edition to show in a language: the named one, else the first.

    A church's own editions come before those that ship. Raises VersesError.
    """
    from_church = own_directory()
    # The church's own first: False sorts before True.
    there = sorted(files().items(), key=lambda item: (item[1].parent != from_church, item[0]))
    for known, file in there:
        if name not in ("", known):
            continue
        written_in = lang_of(file)
        if written_in == lang:
            return known, file
        if name:
            message = f"church.edition {name!r} is in {written_in!r}, captions are in {lang!r}."
            raise VersesError("verses-other-language", message, "Name another one, or none.")
    if name:
        load(name)  # raises an error that lists the known ones
    message = f"There is no Bible in {lang!r}."
    raise VersesError("verses-none", message, "`stark-translate verses add` takes one.")


def lang_of(file: Path) -> str:
    """Return the language of an edition's file, "" if it is unknown."""
    try:
        with _opened(file) as stream:
            # Limited: a file without line ends would be read into memory completely.
            # "replace": the limit may cut a character of the title in two.
            head = stream.readline(1000).decode("utf-8-sig", "replace")
    except (OSError, lzma.LZMAError, EOFError):
        return ""
    return head.removeprefix("#").strip().split("\t")[0] if head.startswith("#") else ""


def _opened(file: Path) -> BinaryIO:
    return cast("BinaryIO", lzma.open(file, "rb")) if file.suffix == ".xz" else file.open("rb")


def read(file: Path, name: str) -> Edition:
    """Read one file. Raises VersesError, which names the line that is wrong."""
    wrong = (lzma.LZMAError, EOFError, UnicodeDecodeError)
    with (
        reading(file, VersesError, "verses-unreadable", "Add the edition again.", wrong),
        _opened(file) as stream,
    ):
        # A compressed file may unpack to gigabytes, whatever its size on disk.
        data = stream.read(MOST_BYTES + 1)
        # -sig: some editors on Windows put a byte order mark before the first line.
        text = data.decode("utf-8-sig")
    if len(data) > MOST_BYTES:
        raise VersesError("verses-too-large", f"{file} is too large for a Bible.")
    head, _, rest = text.partition("\n")
    lang, title, licence = (*head.removeprefix("#").strip().split("\t"), "", "", "")[:3]
    if not head.startswith("#") or not lang:
        message = f"{file}: the first line is not `# language, title, licence` with tabs."
        raise VersesError("verses-no-head", message, "Add the edition again.")
    return Edition(name, lang, title, licence, _verses(rest.splitlines(), file))


def _verses(lines: Iterable[str], file: Path) -> dict[VerseId, str]:
    found: dict[VerseId, str] = {}
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None or not 1 <= int(match[1]) <= 66:
            raise VersesError(
                "verses-bad-line",
                f"{file}, line {number}: not book, chapter, verse and text with tabs between.",
                "Correct the line, or add the edition again.",
            )
        found[int(match[1]), int(match[2]), int(match[3])] = (match[4] or "").strip()
    return found


def write(edition: Edition, folder: Path) -> Path:
    """Write an edition atomically into a folder; return its file. Raises VersesError."""
    head = f"# {edition.lang}\t{edition.title}\t{edition.licence}\n"
    lines = [
        # A tab or line end in a verse would be read back as a separator.
        f"{book}\t{chapter}\t{verse}\t{' '.join(text.split())}\n"
        for (book, chapter, verse), text in sorted(edition.verses.items())
    ]
    file = folder / f"{edition.name}.tsv.xz"
    with writing(folder, VersesError, "verses-unwritable", "Free some space, or change owner."):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, lzma.compress("".join([head, *lines]).encode()))
    return file


def outside_numbering(edition: Edition) -> int:
    """Return how many verses have a number that most Bibles do not have."""
    return sum(not 1 <= verse <= verses(book, chapter) for book, chapter, verse in edition.verses)


def canon(book: int) -> list[VerseId]:
    """Return a book's verses in the King James numbering, which we use everywhere."""
    counts = enumerate(VERSES[book - 1], 1)
    return [(book, chapter, verse) for chapter, last in counts for verse in range(1, last + 1)]


def lacking(edition: Edition) -> list[VerseId]:
    """Return the verses of the canon that are missing from an edition's books."""
    books = sorted({book for book, _, _ in edition.verses})
    return [place for book in books for place in canon(book) if place not in edition.verses]
