"""Insert a missing church term in its place, if the translator's score allows it. Pure functions.

After Bogoychev and Chen 2023 (arXiv 2310.05824, "Terminology-Aware Translation with Constrained
Decoding and Large Language Model Prompting"): translate freely, check, repair missing terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.church.fidelity.term_slots import Filled, fillings, names, slot, taken
from pipeline.core.terms import TermRepair, WantedTerm
from pipeline.dictionary.glossary import shown
from pipeline.text.words import Span

_DROP = 2.0
"""Largest allowed fall of a text's mean log-probability: a small translator gives a low score to
a church word that it hardly knows, even if the rest of the sentence is right.
"""

Weigh = Callable[[WantedTerm], Sequence[float]]
"""Returns how strongly each word of the first text is related to a term."""
Score = Callable[[Sequence[str]], Sequence[float]]
"""Returns the mean log-probability of each text."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A text and the terms that were inserted."""

    text: str
    repairs: tuple[TermRepair, ...] = ()


def repair(
    text: str, before: float, wanted: Sequence[WantedTerm], *, said: str, weigh: Weigh, score: Score
) -> Repaired:
    """Insert missing terms into a translation, except those that lower its score too much.

    `before` is the text's mean log-probability, `said` is the source text. A term's words replace
    those of its slot, never a name or another term's; all other words stay unchanged.
    """
    missing = lacking(text, wanted)
    if not missing:
        return Repaired(text)
    others = [*taken(text, wanted), *names(text, said, wanted)]
    done: list[tuple[Filled, TermRepair]] = []
    for term in missing:
        # Slots of earlier terms are taken too: two terms must not overwrite each other.
        places = [*others, *(filled.slot for filled, _ in done)]
        place = slot(text, weigh(term), places)
        ways = fillings(text, place, term, places, said) if place else []
        if not ways:
            continue
        scores = score([way.text for way in ways])
        best = max(range(len(ways)), key=scores.__getitem__)
        way = ways[best]
        if before - scores[best] <= _DROP:
            done.append((way, TermRepair(term.term, way.found, way.written)))
    return Repaired(_with(text, [filled for filled, _ in done]), tuple(made for _, made in done))


def lacking(text: str, wanted: Sequence[WantedTerm]) -> list[WantedTerm]:
    """Return the terms that have no rendering in a translation."""
    # A term without forms is only checked: there is nothing to insert.
    return [term for term in wanted if term.forms and shown(text, term) is None]


def _with(text: str, filled: Sequence[Filled]) -> str:
    # From the end, so that earlier positions stay valid.
    for each in sorted(filled, key=lambda each: -each.slot[0]):
        text = text[: each.slot[0]] + each.written + text[each.slot[1] :]
    return text


def word_weights(
    words: Sequence[Span], pieces_until: Sequence[int], weights: Sequence[float]
) -> list[float]:
    """Return the largest weight of a piece for each word.

    `pieces_until` is the number of characters up to the end of each piece.
    """
    # The maximum, not the sum: a word of many pieces would win by its length.
    found = [0.0] * len(words)
    start = 0
    # Not strict: a text whose repetition was cut off has more weights than pieces.
    for until, weight in zip(pieces_until, weights, strict=False):
        for index, (begins, ends) in enumerate(words):
            if start < ends and until > begins:
                found[index] = max(found[index], weight)
        start = until
    return found
