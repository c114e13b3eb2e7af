"""Bring the Bibles that ship into the numbering of the King James Version.

    git show 3589058:verses/rv1909.tsv.xz > before.tsv.xz
    python -m scripts.quality.verse_numbering rv1909 before.tsv.xz --to verses

Commit 3589058 has the texts as they were taken over. What is changed in them is in
`verses/changes.txt`, a line a change: where a printed verse holds two, where two are one, which
words are not read aloud, and the verses that were lacking. No number is in there: in a book with
such places the verses, in the order they stand in, get the numbers of the canon, and if they are
not as many as those, nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from pipeline.church.scripture import editions
from pipeline.church.scripture.editions import VerseId
from pipeline.core.errors import UsageError
from pipeline.core.resources import bundled

_KINDS = ("cut", "join", "reword", "add")


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the file of changes."""

    kind: str
    place: VerseId
    """As it was printed."""
    words: str
    instead: str
    """What a reworded verse has for its words."""


def read_changes(text: str, edition: str) -> tuple[Change, ...]:
    """Return an edition's changes, in the order of the file. Raises UsageError."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        name, kind, place, words, instead = (*line.split("\t"), "", "", "", "")[:5]
        parts = place.split(".")
        if kind not in _KINDS or len(parts) != 3 or not all(part.isdecimal() for part in parts):
            message = f"Line {number} of the changes is not edition, change, place and words."
            raise UsageError("change-malformed", message, f"Changes are {', '.join(_KINDS)}.")
        if name == edition:
            book, chapter, verse = map(int, parts)
            found.append(Change(kind, (book, chapter, verse), words, instead))
    return tuple(found)


def renumber(verses: Mapping[VerseId, str], changes: Sequence[Change]) -> dict[VerseId, str]:
    """Return the verses with the changes made. Raises UsageError where one does not fit."""
    by_place: dict[VerseId, list[Change]] = {}
    for change in changes:
        by_place.setdefault(change.place, []).append(change)
    moved = {change.place[0] for change in changes if change.kind in ("cut", "join")}
    text = {change.place: change.words for change in changes if change.kind == "add"}
    double = sorted(text.keys() & verses.keys())
    if double:
        raise UsageError("change-unfitting", f"{double[0]} is to be added, but it is there.")
    missing = sorted(by_place.keys() - text.keys() - verses.keys())
    if missing:
        raise UsageError("change-unfitting", f"{missing[0]} is to be changed, but is not there.")
    text |= verses
    whole: dict[VerseId, str] = {}
    for book, places in groupby(sorted(text), key=lambda place: place[0]):
        if book not in moved:
            whole |= {p: "".join(_pieces(text[p], by_place.get(p, ()))) for p in places}
            continue
        printed: list[str] = []
        for place in places:
            here = by_place.get(place, ())
            pieces = _pieces(text[place], here)
            if any(change.kind == "join" for change in here):
                printed[-1] = f"{printed[-1]} {pieces.pop(0)}"
            printed.extend(pieces)
        whole |= dict(zip(_canon(book, len(printed)), printed, strict=True))
    return whole


def _pieces(text: str, changes: Iterable[Change]) -> list[str]:
    """Return a printed verse, reworded and cut."""
    pieces = [text]
    for change in changes:
        if change.kind not in ("cut", "reword"):
            continue
        before, words, after = pieces[-1].partition(change.words)
        # Of two places it would be unclear which is meant.
        if not words or words in after:
            message = f"{change.place} does not have {change.words!r} once."
            raise UsageError("change-unfitting", message, "Start from the text as taken over.")
        if change.kind == "cut":
            pieces[-1:] = [before.strip(), f"{words}{after}".strip()]
        else:
            pieces[-1] = " ".join(f"{before}{change.instead}{after}".split())
    return pieces


def _canon(book: int, count: int) -> list[VerseId]:
    places = editions.canon(book)
    if len(places) != count:
        message = f"Book {book} has {count} verses after the changes, the canon has {len(places)}."
        raise UsageError("change-unfitting", message, "A cut or a join is lacking.")
    return places


def main(arguments: Sequence[str] | None = None) -> int:
    """Write an edition with its changes made. Returns an exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("edition", help="as the changes name it, such as rv1909")
    parser.add_argument("text", type=Path, help="its file before the changes")
    parser.add_argument("--to", type=Path, required=True, help="folder for the file")
    chosen = parser.parse_args(arguments)
    changes = read_changes(
        bundled("verses", "changes.txt").read_text(encoding="utf-8"), chosen.edition
    )
    before = editions.read(chosen.text, chosen.edition)
    after = replace(before, verses=renumber(before.verses, changes))
    file = editions.write(after, chosen.to)
    sys.stdout.write(
        f"{len(changes)} changes, {len(before.verses)} verses before, {len(after.verses)} now: "
        f"{file}\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
