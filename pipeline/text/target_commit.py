"""Decide which beginning of a growing translation stands for good. Pure.

A target word stands when its pieces were made of committed source words, as the translator's
cross-attention shows (AlignAtt's rule, Papi et al. 2023, on text). Where attention says nothing,
what two translations in a row begin with stands (LocalAgreement-2, Liu et al. 2020). Committed
pieces are forced upon the next translation, so that it only grows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.core.standing import TargetPart
from pipeline.text.boundaries import cut_to_words, last_word
from pipeline.text.local_agreement import common_beginning

Pieces = tuple[tuple[str, ...], ...]
"""Of each part of the text in turn."""

_ENOUGH = 6
"""So many pieces show whether a model's attention follows the text."""

_FOLLOWS = 0.3
"""Least correlation between the places of pieces and of what they look at."""


class TargetCommit:
    """Commits the translation of one utterance.

    `attention_follows` is what is known of the translator so far; a longer text may change it.
    """

    def __init__(self, *, attention_follows: bool = True) -> None:
        self.attention_follows = attention_follows
        self._before: Pieces = ()
        self.committed: Pieces = ()
        self.closed = 0
        """Leading parts of which all source and target is committed."""

    def push(self, parts: Sequence[TargetPart]) -> int:
        """Take a translation of what was said so far; return its committed characters.

        The parts are joined by spaces. What was committed stays committed; where a part does not
        begin with it (it was not made to), only what it has of it counts.
        """
        if not parts:
            return 0
        forced = regrouped(self.committed, len(parts))
        before, self._before = self._before, tuple(part.pieces for part in parts)
        counts: list[int] = []
        kept = list(forced)
        self.closed = 0
        for place, part in enumerate(parts):
            old = forced[place] if place < len(forced) else ()
            same = common_beginning(old, part.pieces)
            # Nothing comes between words that stand, so a part in front of some cannot grow.
            if same < len(old) or (len(part.pieces) > same and any(forced[place + 1 :])):
                counts.append(same)
                break
            counts.append(self._count(part, len(old), before[place] if place < len(before) else ()))
            kept[place : place + 1] = [part.pieces[: counts[-1]]]
            # Behind a part that may still change nothing can stand.
            if not part.is_whole:
                break
            self.closed += 1
        self.committed = tuple(kept)
        return _characters(parts, counts)

    def _count(self, part: TargetPart, least: int, before: Sequence[str]) -> int:
        """Return how many pieces of a part stand, of which `least` have stood before."""
        if part.is_whole:
            return len(part.pieces)
        # A few pieces correlate by chance.
        if len(part.looked_at) >= _ENOUGH:
            self.attention_follows = follows(part.looked_at)
        if part.looked_at and self.attention_follows:
            unsettled = (
                i for i in range(least, len(part.pieces)) if part.looked_at[i] >= part.settled
            )
            count = next(unsettled, len(part.pieces))
        else:
            count = common_beginning(before, part.pieces)
        return cut_to_words(part.pieces, min(count, last_word(part.pieces)), least)


def regrouped(pieces: Pieces, count: int) -> Pieces:
    """Return committed pieces for a text that is now cut into `count` parts, 1 or more.

    Where there are fewer parts than before the last one gets all that is left.
    """
    if len(pieces) <= count or not count:
        return pieces
    rest = tuple(piece for part in pieces[count - 1 :] for piece in part)
    return (*pieces[: count - 1], rest)


def follows(looked_at: Sequence[int]) -> bool:
    """Whether attention goes through the source as the target goes on.

    One that always looks at the same place, or at any, would commit everything at once, or never.
    """
    # The correlation with a constant is nan.
    if len(set(looked_at)) < 2:
        return False
    return bool(np.corrcoef(range(len(looked_at)), looked_at)[0, 1] >= _FOLLOWS)


def _characters(parts: Sequence[TargetPart], counts: Sequence[int]) -> int:
    """Return how many characters of the joined parts so many pieces of each are."""
    end = start = 0
    for part, count in zip(parts, counts, strict=False):
        if count:
            end = start + part.until[count - 1]
        # A part without text takes no space either.
        if part.until and part.until[-1]:
            start += part.until[-1] + 1
    return end
