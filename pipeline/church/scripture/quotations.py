"""Measure how much of a verse stands in the latest words, given an index of verses. Pure.

Candidates come from the index; each is aligned with the words (longest common blocks), and the
stretch in which blocks lie close together counts: what was said around a quotation does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.verse_index import VerseIndex

_CANDIDATES = 6
_GAP = 0.5
"""What a word between two blocks costs, where a common word is 1."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A verse as far as it was said."""

    reference: Reference
    matched: int
    """Words of the verse that were said."""
    coverage: float
    """The share of them in all words that were said from the first to the last of them."""
    share: float
    """Of the verse's words, the share that was said."""
    run: int
    """Words of the verse said in a row, at most."""
    end: int
    """Behind the last of them, counted in words of what was said."""


def search(index: VerseIndex, words: Sequence[str]) -> list[Quotation]:
    """Return what the words may quote, the best first, each verse once."""
    said = index.ids(words)
    return _best(_align(index, said, number) for number in index.candidates(said, _CANDIDATES))


def compare(index: VerseIndex, words: Sequence[str], reference: Reference) -> Quotation | None:
    """Return how much of one verse the words hold, None if nothing."""
    said = index.ids(words)
    found = _best(_align(index, said, number) for number in index.texts_of(reference))
    return found[0] if found else None


def _best(quotations: Iterable[Quotation | None]) -> list[Quotation]:
    best: dict[Reference, Quotation] = {}
    for quotation in quotations:
        if quotation is None:
            continue
        # Several editions have the verse, and the speaker reads from one of them.
        known = best.get(quotation.reference)
        if known is None or _rank(quotation) > _rank(known):
            best[quotation.reference] = quotation
    return sorted(best.values(), key=_rank, reverse=True)


def _rank(quotation: Quotation) -> tuple[float, float]:
    return quotation.matched * quotation.coverage, quotation.share


def _align(index: VerseIndex, said: Sequence[int], number: int) -> Quotation | None:
    verse = index.text(number)
    # autojunk would leave out frequent words, of which verses are made; the last block is a mark of
    # length 0.
    blocks = SequenceMatcher(None, said, verse, autojunk=False).get_matching_blocks()[:-1]
    if not blocks or not verse:
        return None
    best, best_score = (0, 0), 0.0
    first, score = 0, 0.0
    for at, block in enumerate(blocks):
        gap = 0
        if at:
            before = blocks[at - 1]
            gap = max(block.a - before.a - before.size, block.b - before.b - before.size)
        # As in Kadane's algorithm: a stretch that brings less than the gap costs begins anew.
        if score - _GAP * gap <= 0:
            first, score = at, 0.0
        else:
            score -= _GAP * gap
        score += block.size
        if score > best_score:
            best, best_score = (first, at + 1), score
    used = blocks[best[0] : best[1]]
    matched = sum(block.size for block in used)
    end = used[-1].a + used[-1].size
    return Quotation(
        reference=index.reference(number),
        matched=matched,
        coverage=matched / (end - used[0].a),
        share=matched / len(verse),
        run=max(block.size for block in used),
        end=end,
    )
