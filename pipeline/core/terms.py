"""The glossary's values: church words that a translation must have, and their outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class WantedTerm:
    """A church word in a text that is translated, and how the target language says it."""

    term: str
    """The entry of the glossary, by its id."""
    start: int
    """Where it stands in the text, characters."""
    end: int
    forms: tuple[str, ...]
    """What may be written for it, the best first; empty: it is looked for only."""
    lang: str
    pattern: str
    """A regular expression of all that counts as it, on words in small letters without accents."""
    foreign: tuple[str, ...] = ()
    """Spoken words that only look like a rendering without accents: "grace" is no "grâce"."""

    def moved(self, by: int) -> WantedTerm:
        """Return the term as it stands in a text that begins `-by` characters later."""
        return replace(self, start=self.start + by, end=self.end + by)


def by_part(
    text: str, parts: Iterable[str], wanted: Sequence[WantedTerm]
) -> Iterator[tuple[str, int, list[WantedTerm]]]:
    """Yield each part of a text, where it begins, and the terms that stand in it, as they do."""
    end = 0
    for part in parts:
        # Where cutting has changed white space a part is not found as it is, and begins behind the
        # last one.
        start = max(text.find(part, end), end)
        end = start + len(part)
        yield part, start, [term.moved(-start) for term in wanted if start <= term.start < end]


@dataclass(frozen=True, slots=True)
class TermRepair:
    """A rendering that a translator has put into its text, where there was none of its term."""

    term: str
    found: str
    """The words that stood there before."""
    written: str
