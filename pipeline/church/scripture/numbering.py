"""Convert a Bible to the numbering of the King James Version, which we use.

The changes to the Bibles that ship are in `verses/changes.txt`, one per line: a printed verse that
contains two, two verses that are one, words that are not read aloud, and missing verses. The file
has no new numbers: the verses of a changed book get the numbers of the canon in their order. If
the count differs from the canon's, nothing is changed.
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
    """The printed number."""
    words: str
    instead: str
    """The new words of a reworded verse."""


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
    """Return the shipped changes of an edition."""
    return read_changes(bundled("verses", "changes.txt").read_text(encoding="utf-8"), edition)


def renumber(verses: Mapping[VerseId, str], changes: Sequence[Change]) -> dict[VerseId, str]:
    """Return the verses with the changes made. Raises UsageError if one does not fit."""
    by_place: dict[VerseId, list[Change]] = {}
    for change in changes:
        by_place.setdefault(change.place, []).append(change)
    # Only a cut or a join moves the verses after it; other books keep the printed numbers.
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
                # Only the first piece: a part that a cut separated is a verse of its own.
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
        # With two places it would be unclear which one is meant.
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
    """Return a Bible's verses with the numbers of the canon, and the books that changed.

    A book gets the changes of a shipped edition if they fit its words, as those of the printed
    Reina-Valera do. If only the chapter ends differ (Joel, Malachi), its verses get the numbers of
    the canon in their order; Psalm headings that count as verses are left out. A book that lacks a
    verse or has one more stays as it is: nobody knows where its numbering begins to differ.
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
    """Return a book with its changes from a table made; {} if it has none, or they do not fit."""
    changes = [change for change in table if change.place[0] == next(iter(book))[0]]
    if any(change.kind in ("cut", "join") for change in changes):
        # If the book lacks words that the table names, it is of another translation.
        with suppress(UsageError):
            return renumber(book, changes)
    return {}


def _by_order(book: Mapping[VerseId, str]) -> dict[VerseId, str]:
    """Return a book with the canon's numbers; {} if the counts differ or it has them already."""
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
