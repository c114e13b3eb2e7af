"""Order doubtful captions by what is worth a person's time first. Pure.

Disagreement of the translators x church terms x doubt: what two engines see alike teaches little,
and a church's own words are what general models get wrong. Choosing by disagreement and terms
reaches the accuracy of all labels with a third of them (arXiv:2406.02566, 2506.03681).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.core.types import Word
from pipeline.session.training_pairs import Pair
from pipeline.text.words import words

_LEAST = 0.05
"""No factor is nothing: a caption with a church term is worth a look although all seems well."""
_MOST_TERMS = 3


def priority(pair: Pair, heard: Sequence[Word], terms: Iterable[str]) -> float:
    """Return how much a look at a caption promises, more than 0.

    `heard` are the words as recognized, with how sure the recognizer was; `terms` the church's. A
    measure that is missing is taken from the score.
    """
    unsure = 1 - (pair.score if pair.score is not None else 0.0)
    apart = unsure if pair.marian_agreement is None else 1 - pair.marian_agreement
    misheard = unsure if pair.stt_confidence is None else 1 - pair.stt_confidence
    if heard and pair.stt_confidence is not None:
        misheard = max(misheard, 1 - min(word.probability for word in heard))
    # With a space at either end, so that terms are found as whole words.
    said = f" {' '.join(words(pair.source))} "
    count = sum(f" {' '.join(words(term))} " in said for term in set(terms))
    return max(_LEAST, apart) * (1 + min(count, _MOST_TERMS)) * max(_LEAST, misheard)
