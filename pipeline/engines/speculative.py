"""What a draft in the target language says comes next: guesses for the final translator. Pure.

Speculative decoding (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative
Decoding") with a whole text in place of a small model's guesses. The text is another translator's,
so the two part ways and meet again; where they meet is found as prompt lookup decoding does it
(Saxena 2023): by the tokens made last.
"""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 4
"""So many tokens in common are enough to be sure of the place."""


def guess(draft: Sequence[int], made: Sequence[int], most: int) -> Sequence[int]:
    """Return at most `most` tokens that `draft` has behind the tokens `made` last.

    Of several places the one counts that has the most tokens before it in common with `made`, and
    among equals the one nearest to the length of `made`. Nothing in common: no guess.
    """
    if not made:
        return draft[:most]
    best = max(
        range(1, len(draft) + 1),
        key=lambda place: (_common(draft, place, made), -abs(place - len(made))),
        default=0,
    )
    return draft[best : best + most] if best and draft[best - 1] == made[-1] else []


def _common(draft: Sequence[int], place: int, made: Sequence[int]) -> int:
    """Return how many tokens before `place` are those at the end of `made`."""
    count = 0
    while count < min(_LONGEST, place, len(made)) and draft[place - 1 - count] == made[-1 - count]:
        count += 1
    return count
