"""Find the verse that words come from: an index of word pairs over all editions of a language.

The index is built once, kept in the user's cache and mapped into memory: it has 20 MB on disk, and
a search reads a few pages. Each spoken language has one; an outdated index is never used.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.church.scripture import editions
from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.editions import Edition
from pipeline.core.errors import VersesError, reading, writing
from pipeline.text.words import HAN, plain

_FORMAT = 3
"""Increase it when the same Bibles give a different index or file format."""
_HIRAGANA, _KATAKANA = "\u3040-\u309f", "\u30a0-\u30ff"
_LETTERS = rf"(?:(?![{HAN}\u3040-\u30ff])[^\W\d_])+"
# A Han sign is about an English word, and so are the kana between two of them.
_WORD = re.compile(rf"[{HAN}]|[{_HIRAGANA}]+|[{_KATAKANA}]+|{_LETTERS}(?:'{_LETTERS})*")
_WORDS = 1 << 20
"""More words than the Bibles of any language have: a word pair's key is a single number."""
_COMMON = 3000
"""A pair that occurs in more texts than this is ignored."""
_ARRAYS = ("keys", "starts", "postings", "words", "offsets", "verses")


def words_of(text: str) -> list[str]:
    """Return the words of a text, normalized for comparison."""
    return _WORD.findall(plain(text))


@dataclass(frozen=True)
class VerseIndex:
    """The index; arrays are mapped from files. A text is one verse of one edition."""

    vocabulary: Mapping[str, int]
    keys: NDArray[np.int64]
    """Pairs of words, sorted: first * 2^20 + second."""
    starts: NDArray[np.int32]
    """Where the texts of each pair begin in `postings`; one more at the end."""
    postings: NDArray[np.int32]
    """Numbers of texts."""
    words: NDArray[np.int32]
    """The words of all texts, one text after the other."""
    offsets: NDArray[np.int32]
    """Where each text begins in `words`; one more at the end."""
    verses: NDArray[np.int32]
    """For each text: book * 1,000,000 + chapter * 1,000 + verse."""
    editions: tuple[str, ...]
    sources: Mapping[str, str]
    """The fingerprints of the editions' files when it was built, by name."""

    def ids(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words, -1 for those that no Bible has."""
        return [self.vocabulary.get(word, -1) for word in words]

    def text(self, number: int) -> list[int]:
        """Return the words of a text, as numbers."""
        words: list[int] = self.words[self.offsets[number] : self.offsets[number + 1]].tolist()
        return words

    def reference(self, number: int) -> Reference:
        """Return the verse of a text."""
        code = int(self.verses[number])
        return Reference(code // 1_000_000, code // 1000 % 1000, code % 1000)

    def texts_of(self, reference: Reference) -> list[int]:
        """Return the texts of one verse, in each edition that has it."""
        code = reference.book * 1_000_000 + reference.chapter * 1000 + reference.verse
        texts: list[int] = np.flatnonzero(self.verses == code).tolist()
        return texts

    def candidates(self, words: Sequence[int], most: int) -> list[int]:
        """Return the texts that share the most distinctive word pairs, best first."""
        # -1 is a word that no Bible has: no pair with it is in the index.
        pairs = {a * _WORDS + b for a, b in pairwise(words) if a >= 0 <= b}
        wanted = np.array(sorted(pairs), np.int64)
        at = np.searchsorted(self.keys, wanted)
        at, wanted = at[at < len(self.keys)], wanted[at < len(self.keys)]
        # searchsorted returns where a pair would be, whether it exists or not. Each result is
        # compared with its pair: otherwise a missing pair could count the next pair twice.
        at = at[self.keys[at] == wanted]
        lists = [self.postings[self.starts[i] : self.starts[i + 1]] for i in at]
        lists = [each for each in lists if len(each) <= _COMMON]
        if not lists:
            return []
        # Rare pairs count more: inverse document frequency.
        weights = [np.log(len(self.verses) / len(each)) for each in lists]
        found, place = np.unique(np.concatenate(lists), return_inverse=True)
        per_text = np.repeat(weights, [len(each) for each in lists])
        scores = np.bincount(place, per_text)
        best = np.argsort(-scores, kind="stable")[:most]
        texts: list[int] = found[best].tolist()
        return texts


def build(
    editions: Sequence[Edition], folder: Path, sources: Mapping[str, str] | None = None
) -> VerseIndex:
    """Build the index of some editions in a folder, completely or not at all. Raises VersesError.

    `sources` are the fingerprints of the editions' files by name.
    """
    vocabulary: dict[str, int] = {}
    texts, verses = [], []
    for edition in editions:
        for (book, chapter, verse), text in edition.verses.items():
            ids = [vocabulary.setdefault(word, len(vocabulary)) for word in words_of(text)]
            texts.append(np.array(ids, np.int32))
            verses.append(book * 1_000_000 + chapter * 1000 + verse)
    if not texts or len(vocabulary) >= _WORDS:
        raise VersesError("verses-empty", "There is no text that an index could be built from.")
    lengths = np.array([len(text) for text in texts])
    words = np.concatenate(texts)
    owners = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)
    # The last word of a text and the first of the next one are no pair.
    is_pair = owners[:-1] == owners[1:]
    # Two numbers below 2^20 do not fit into 32 bits.
    keys = (words[:-1].astype(np.int64) * _WORDS + words[1:])[is_pair]
    order = np.argsort(keys, kind="stable")
    unique, first = np.unique(keys[order], return_index=True)
    arrays: dict[str, NDArray[Any]] = {
        "keys": unique,
        "starts": np.append(first, len(keys)).astype(np.int32),
        "postings": owners[:-1][is_pair][order],
        "words": words,
        "offsets": np.append(0, np.cumsum(lengths)).astype(np.int32),
        "verses": np.array(verses, np.int32),
    }
    facts = {
        "format": _FORMAT,
        "editions": [edition.name for edition in editions],
        "sources": dict(sources or {}),
        "words": list(vocabulary),
    }
    _write(folder, arrays, facts)
    # Mapped from the files like any other index: the arrays in memory are freed.
    return load(folder)


def _write(folder: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, object]) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    with writing(folder, VersesError, "verses-unwritable", "Free some space, or change owner."):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array)
        (partial / "index.json").write_text(json.dumps(facts), encoding="utf-8")
        # If a process has the old index mapped, POSIX keeps its files until they are unmapped.
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)  # a kill leaves a partial folder, never half an index


def load(folder: Path) -> VerseIndex:
    """Map an existing index into memory, whatever has become of the Bibles since.

    Raises VersesError `verses-not-built`, `verses-broken` or `verses-outdated`.
    """
    if not (folder / "index.json").is_file():
        fix = "A service builds it when it starts; `stark-translate verses build` does it now."
        raise VersesError("verses-not-built", "There is no index of verses yet.", fix)
    try:
        facts = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        # The rest of an index in another format would be misread.
        if facts["format"] != _FORMAT:
            raise _outdated("another version of the program made it")
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        vocabulary = {word: number for number, word in enumerate(facts["words"])}
        sources = {str(name): str(mark) for name, mark in facts["sources"].items()}
        return VerseIndex(vocabulary, **arrays, editions=tuple(facts["editions"]), sources=sources)
    # JSON with another structure raises one of the last three.
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"The index of verses in {folder} cannot be used: {error}."
        fix = "Run `stark-translate verses build` again."
        raise VersesError("verses-broken", message, fix) from None


def _outdated(why: str) -> VersesError:
    message = f"The index of verses is older than the Bibles: {why}."
    fix = "It is built anew when a service starts; `stark-translate verses build` does it now."
    return VersesError("verses-outdated", message, fix)


def _what_changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    changes = {
        "new": now.keys() - before.keys(),
        "changed": {name for name in now.keys() & before.keys() if now[name] != before[name]},
        "gone": before.keys() - now.keys(),
    }
    parts = [f"{', '.join(sorted(names))} {how}" for how, names in changes.items() if names]
    return "; ".join(parts)


_BUILDING = threading.Lock()
"""Two caption languages of one service must not build the same index at the same time."""


MENDED = ("verses-not-built", "verses-outdated")
"""Error codes that a service repairs by itself while its engines load."""


def folder(lang: str) -> Path:
    """Return where the index of a spoken language is."""
    return editions.cache_directory() / lang


def sources(lang: str) -> Mapping[str, str]:
    """Return the fingerprint of each edition's file in a language, by name. Raises VersesError.

    It is made of the contents: file times change with every installation.
    """
    return {name: _fingerprint(file) for name, file in _files(lang).items()}


def load_built(lang: str) -> VerseIndex:
    """Map the index of a language, if it was built from the present Bibles.

    Raises VersesError, as `load` does.
    """
    index, now = load(folder(lang)), sources(lang)
    if index.sources != now:
        raise _outdated(_what_changed(index.sources, now))
    return index


def build_index(lang: str, progress: Callable[[str], None] = lambda _: None) -> VerseIndex:
    """Build the index of a language; `progress` is called at each step. Raises VersesError."""
    marks: dict[str, str] = {}
    chosen: list[Edition] = []
    for name, file in sorted(_files(lang).items()):
        # Taken before reading: if the file changes meanwhile, the index counts as outdated.
        marks[name] = _fingerprint(file)
        edition = editions.read(file, name)
        progress(f"Reading {edition.title} ({len(edition.verses)} verses).")
        chosen.append(edition)
    if not chosen:
        message = f"There is no Bible in {lang!r} to recognize verses by."
        raise VersesError("verses-none", message, "Add one with `stark-translate verses add`.")
    progress("Building the index: some seconds.")
    return build(chosen, folder(lang), marks)


def renew(lang: str) -> VerseIndex:
    """Return the index of a language; build a missing or outdated one. Raises VersesError."""
    # A thread that waited here finds the index that the other thread has built.
    with _BUILDING:
        try:
            return load_built(lang)
        except VersesError as error:
            # A damaged index is rebuilt only by a command, so that somebody notices the damage.
            if error.code not in MENDED:
                raise
        return build_index(lang)


def _files(lang: str) -> Mapping[str, Path]:
    return {name: file for name, file in editions.files().items() if editions.lang_of(file) == lang}


def _fingerprint(file: Path) -> str:
    fix = "Add the edition again."
    with reading(file, VersesError, "verses-unreadable", fix), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
