"""Put a missing church word in where it belongs, if the translator agrees. Pure.

After Bogoychev and Chen 2023 (arXiv 2310.05824, "Terminology-Aware Translation with Constrained
Decoding and Large Language Model Prompting"): translate freely, check, mend what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.church.fidelity.term_slots import Filled, Place, fillings, names, slots, taken
from pipeline.core.terms import TermRepair, WantedTerm
from pipeline.dictionary.glossary import shown

_DROP = 2.0
"""Most that the mean log-probability of a text may fall: a small translator holds a church word
that it hardly knows against a sentence in which all else is right.
"""

Weigh = Callable[[WantedTerm], Sequence[float]]
"""Returns how much each word of the first text has to do with a term."""
Score = Callable[[Sequence[str]], Sequence[float]]
"""Returns the mean log-probability of each text."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A text and the terms that were put into it."""

    text: str
    repairs: tuple[TermRepair, ...] = ()


def repair(
    text: str, before: float, wanted: Sequence[WantedTerm], *, said: str, weigh: Weigh, score: Score
) -> Repaired:
    """Put into a translation the terms that it lacks; what the translator resists stays out.

    `before` is the text's mean log-probability, `said` what it translates. A term's words replace
    those of its slot, never a name or another term's; all others stay as they are.
    """
    missing = lacking(text, wanted)
    if not missing:
        return Repaired(text)
    others = [*taken(text, wanted), *names(text, said, wanted)]
    done: list[tuple[Filled, TermRepair]] = []
    for term in missing:
        # What an earlier term was put into is taken as well: two terms would overwrite each other.
        places = [*others, *(filled.slot for filled, _ in done)]
        ways = fillings(text, slots(text, weigh(term), places), term, places, said)
        if not ways:
            continue
        scores = score([way.text for way in ways])
        best = max(range(len(ways)), key=scores.__getitem__)
        way = ways[best]
        if before - scores[best] <= _DROP:
            done.append((way, TermRepair(term.term, way.found, way.written)))
    return Repaired(_with(text, [filled for filled, _ in done]), tuple(told for _, told in done))


def lacking(text: str, wanted: Sequence[WantedTerm]) -> list[WantedTerm]:
    """Return the terms of which a translation has no rendering."""
    # A term without forms is only looked for: there is nothing to put in.
    return [term for term in wanted if term.forms and shown(text, term) is None]


def _with(text: str, filled: Sequence[Filled]) -> str:
    # From the end, so that the places of those before stay right.
    for each in sorted(filled, key=lambda each: -each.slot[0]):
        text = text[: each.slot[0]] + each.written + text[each.slot[1] :]
    return text


def word_weights(
    words: Sequence[Place], pieces_until: Sequence[int], weights: Sequence[float]
) -> list[float]:
    """Return the most that a piece of each word weighs.

    `pieces_until`: how many characters the text has up to each piece.
    """
    # The most and not the sum: a word of many pieces would win by its length.
    found = [0.0] * len(words)
    start = 0
    # Not strict: a text whose loop was cut off has more weights than pieces.
    for until, weight in zip(pieces_until, weights, strict=False):
        for index, (begins, ends) in enumerate(words):
            if start < ends and until > begins:
                found[index] = max(found[index], weight)
        start = until
    return found
