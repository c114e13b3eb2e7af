"""The indexes of verses in the user's cache: one a spoken language, none in use that is old."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.editions import Edition
from pipeline.church.scripture.verse_index import VerseIndex
from pipeline.core.errors import VersesError, reading

_BUILDING = threading.Lock()
"""Two caption languages of one service would build the same index into the same folder."""


MENDED = ("verses-not-built", "verses-outdated")
"""What a service puts right by itself, while its engines load."""


def folder(lang: str) -> Path:
    """Return where the index of a spoken language is."""
    return editions.cache_directory() / lang


def sources(lang: str) -> Mapping[str, str]:
    """Return the fingerprint of each edition's file in a language, by name. Raises VersesError.

    Of what is in the files: their times change with every installation.
    """
    return {name: _fingerprint(file) for name, file in _files(lang).items()}


def load(lang: str) -> VerseIndex:
    """Map the index of a language, if it was built from the Bibles that there are now.

    Raises VersesError, as `verse_index.load` does.
    """
    return verse_index.load(folder(lang), partial(sources, lang))


def build(lang: str, progress: Callable[[str], None] = lambda _: None) -> VerseIndex:
    """Build the index of a language; `progress` hears of each step. Raises VersesError."""
    marks: dict[str, str] = {}
    chosen: list[Edition] = []
    for name, file in sorted(_files(lang).items()):
        # Before it is read: a file that changes meanwhile leaves an index that is known as old.
        marks[name] = _fingerprint(file)
        edition = editions.read(file, name)
        progress(f"Reading {edition.title} ({len(edition.verses)} verses).")
        chosen.append(edition)
    if not chosen:
        message = f"There is no Bible in {lang!r} to recognize verses by."
        raise VersesError("verses-none", message, "Add one with `stark-translate verses add`.")
    progress("Building the index: some seconds.")
    return verse_index.build(chosen, folder(lang), marks)


def renew(lang: str) -> VerseIndex:
    """Return the index of a language, built if there is none or an old one. Raises VersesError."""
    with _BUILDING:
        try:
            return load(lang)
        except VersesError as error:
            # One that is damaged is built by command only: whoever damaged it should hear of it.
            if error.code not in MENDED:
                raise
        return build(lang)


def _files(lang: str) -> Mapping[str, Path]:
    return {name: file for name, file in editions.files().items() if editions.lang_of(file) == lang}


def _fingerprint(file: Path) -> str:
    fix = "Add the edition again."
    with reading(file, VersesError, "verses-unreadable", fix), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
