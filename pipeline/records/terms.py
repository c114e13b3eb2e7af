"""What became of the glossary's church words in a session. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.core.types import Check
from pipeline.dictionary.inflection import pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class TermCount:
    """One entry of the glossary in a session, in captions that it was said in."""

    seen: int
    """Captions."""
    right: int
    """Of those, the ones whose translation had an approved rendering by itself."""
    repaired: int
    """... into which it was put."""
    refused: int
    """... that have none: nobody knew where it belongs, or the translator objected."""
    consistency: float | None
    """Share of the commonest rendering among all that were shown, 0..1; None if none was."""


class TermTally:
    """Counts the church words of a session's captions."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Counter[str]] = {}
        self._renderings: dict[str, Counter[str]] = {}

    def add(self, checks: Iterable[Check], lang: str) -> None:
        """Count what was found in one caption in the language `lang`."""
        for check in checks:
            # References, numbers and negations are checks, too, and no church words.
            if not check.term:
                continue
            self._outcomes.setdefault(check.term, Counter())[check.outcome] += 1
            if check.outcome != "doubtful":
                # Singular and plural are one rendering: the pattern of both is the same.
                rendering = pattern(check.written, lang)
                self._renderings.setdefault(check.term, Counter())[rendering] += 1

    @property
    def counts(self) -> dict[str, TermCount]:
        """What was counted, the entries in alphabetical order."""
        return {term: self._count(term) for term in sorted(self._outcomes)}

    def _count(self, term: str) -> TermCount:
        outcomes, renderings = self._outcomes[term], self._renderings.get(term, Counter())
        commonest = max(renderings.values(), default=0)
        return TermCount(
            seen=outcomes.total(),
            right=outcomes["right"],
            repaired=outcomes["repaired"],
            refused=outcomes["doubtful"],
            consistency=round(commonest / renderings.total(), 4) if renderings else None,
        )
