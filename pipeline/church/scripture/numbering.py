"""Bring a Bible into the numbering of the King James Version, which is ours.

What is changed in the Bibles that ship is in `verses/changes.txt`, a line a change: where a printed
verse holds two, where two are one, which words are not read aloud, and the verses that were
lacking. No number is in there: in a book with such places the verses, in the order they stand in,
get the numbers of the canon, and if they are not as many as those, nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from pipeline.church.scripture import editions
from pipeline.church.scripture.books import PSALMS, VERSES
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


def changes_of(edition: str) -> tuple[Change, ...]:
    """Return the changes of an edition that ship."""
    return read_changes(bundled("verses", "changes.txt").read_text(encoding="utf-8"), edition)


def renumber(verses: Mapping[VerseId, str], changes: Sequence[Change]) -> dict[VerseId, str]:
    """Return the verses with the changes made. Raises UsageError where one does not fit."""
    by_place: dict[VerseId, list[Change]] = {}
    for change in changes:
        by_place.setdefault(change.place, []).append(change)
    # Only a cut or a join moves what is behind it; in other books the printed numbers hold.
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
                # Only the first piece: what a cut has parted from it is a verse of its own.
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


def renumbered(verses: Mapping[VerseId, str]) -> tuple[dict[VerseId, str], list[int]]:
    """Return a Bible's verses under the numbers of the canon, and the books that changed.

    A book gets the changes of an edition that ships if they fit its words, as the printed
    Reina-Valera's do. Where only the chapters end elsewhere (Joel, Malachi) a book's verses get
    the numbers of the canon in their order; headings that count as verses of Psalms are left out.
    A book that lacks a verse, or has one more, stays as it is: nobody knows from where on it counts
    otherwise.
    """
    found, changed = dict(verses), []
    printed = changes_of("rv1909")
    for book, places in groupby(sorted(verses), key=lambda place: place[0]):
        here = {place: verses[place] for place in places}
        if new := _by_table(here, printed) or _by_order(here):
            for place in here:
                del found[place]
            found |= new
            changed.append(book)
    return dict(sorted(found.items())), changed


def _by_table(book: Mapping[VerseId, str], table: Sequence[Change]) -> dict[VerseId, str]:
    """Return a book with its changes of a table made; nothing where there are none, or not its."""
    changes = [change for change in table if change.place[0] == next(iter(book))[0]]
    if any(change.kind in ("cut", "join") for change in changes):
        # Words that the table names and the book does not have are those of another translation.
        with suppress(UsageError):
            return renumber(book, changes)
    return {}


def _by_order(book: Mapping[VerseId, str]) -> dict[VerseId, str]:
    """Return a book of as many verses as the canon's under its numbers; nothing if it has them."""
    here, counts = sorted(book), Counter(chapter for _, chapter, _ in book)
    number = here[0][0]
    contiguous = [(number, c, v) for c in sorted(counts) for v in range(1, counts[c] + 1)]
    if here != contiguous or here == (wanted := editions.canon(number)):
        return {}
    if number == PSALMS:
        more = {psalm: counts[psalm] - last for psalm, last in enumerate(VERSES[number - 1], 1)}
        # Hebrew numbering counts the heading of a psalm as one verse or as two.
        if set(more.values()) <= {0, 1, 2}:
            here = [place for place in here if place[2] > more.get(place[1], 0)]
    if len(here) != len(wanted):
        return {}
    return {new: book[old] for new, old in zip(wanted, here, strict=True)}
