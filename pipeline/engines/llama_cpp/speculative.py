"""Guess the final translator's next tokens from a draft in the target language. Pure.

Speculative decoding (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative
Decoding") with a whole text in place of a small model's guesses. The text is another translator's,
so the two part ways and meet again; where they meet is found as prompt lookup decoding does it
(Saxena 2023): by the tokens made last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_LONGEST = 4
"""So many tokens in common are enough to be sure of the place."""


def place_in(draft: Sequence[int], made: Sequence[int]) -> int | None:
    """Return the index in `draft` of what follows the tokens `made` last; None if it has nothing.

    Of several places the one counts that has the most tokens before it in common with `made`, and
    among equals the one nearest to the length of `made`.
    """
    if not made:
        return 0 if draft else None
    best = max(
        range(1, len(draft) + 1),
        key=lambda place: (_common(draft, place, made), -abs(place - len(made))),
        default=0,
    )
    # The best place of all may have no token in common; then there is nothing to guess.
    return best if best and best < len(draft) and draft[best - 1] == made[-1] else None


def count_within(pieces: Sequence[bytes], beginning: str) -> int:
    """Return how many of a text's pieces lie within its beginning."""
    # In bytes, as the pieces are: a letter may be spread over two of them.
    end = len(beginning.encode(errors="replace"))
    return sum(size <= end for size in accumulate(map(len, pieces))) if end else 0


@dataclass(frozen=True, slots=True)
class Bias:
    """How far a draft is preferred to what the translator would say (0..1; 0 is not at all).

    A draft's token is kept where (1 - bias) p(draft) + bias >= (1 - bias) p(best): speculative
    decoding with bias (arXiv 2509.21740), where the draft is what has been on screen. `standing` is
    the bias for tokens that are committed there, `tail` for those behind them, `final` for those
    that were part of a final (from .5 on they always stay).
    """

    standing: float = 0.0
    tail: float = 0.0
    final: float = 0.0

    def __bool__(self) -> bool:
        """Whether the draft changes anything."""
        return max(self.standing, self.tail, self.final) > 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft's tokens, how many leading ones are committed on screen, what they are worth."""

    tokens: Sequence[int] = ()
    standing: int = 0
    was_final: int = 0
    """Of those that are committed, the ones that a final had."""
    bias: Bias = Bias()

    def keeps(self, place: int, drafted: float, best: float) -> bool:
        """Whether the token at a place stays, by its log-probability and that of the best one."""
        bias = self.bias.tail
        if place < self.standing:
            bias = self.bias.final if place < self.was_final else self.bias.standing
        return (1 - bias) * (math.exp(best) - math.exp(drafted)) <= bias


def _common(draft: Sequence[int], place: int, made: Sequence[int]) -> int:
    """Return how many tokens before `place` are those at the end of `made`."""
    count = 0
    while count < min(_LONGEST, place, len(made)) and draft[place - 1 - count] == made[-1 - count]:
        count += 1
    return count
