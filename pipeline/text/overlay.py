"""The beginning of one translation laid over another one of the same sentence. Pure.

While a final is being made its words replace those of the draft on screen. Which of them they
replace is found by aligning the words (edit distance between the beginning and every beginning of
the draft), not by counting: the two often say the same with more or fewer words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.text.words import MARKS, UNSPACED

_SKIP = 0.5
"""Cost of a draft's word that the beginning leaves out. Cheaper than the others, or a word that
stands further on in the draft would be shown twice."""
_INSERT = _REPLACE = 1.0

_LETTER = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(f"[{UNSPACED}][{MARKS}]*|[^\\s{UNSPACED}]+")
"""A word with its punctuation; in scripts without spaces a letter."""


def lay_over(beginning: str, draft: str) -> str:
    """Return `beginning` and what `draft` has behind the words that it stands for.

    No word stands on both sides of the seam unless the draft itself has it twice in a row.
    """
    above, below = list(_WORD.finditer(beginning)), list(_WORD.finditer(draft))
    covered = _covered([_bare(word) for word in above], [_bare(word) for word in below])
    if covered == len(below):
        return beginning
    rest = draft[below[covered].start() :]
    is_unspaced = _LETTER.match(beginning[-1:]) and _LETTER.match(rest)
    return f"{beginning}{'' if is_unspaced else ' '}{rest}".strip()


def _covered(beginning: Sequence[str], draft: Sequence[str]) -> int:
    """Return how many words of `draft` the words of `beginning` stand for.

    The number that costs least; among equals the one nearest to as many words as there are.
    """
    # costs[k]: of turning the first k words of the draft into the words of `beginning` so far.
    costs = [k * _SKIP for k in range(len(draft) + 1)]
    for word in beginning:
        before, costs = costs, [costs[0] + _INSERT]
        for k, other in enumerate(draft, 1):
            replaced = before[k - 1] + (0.0 if word == other else _REPLACE)
            costs.append(min(replaced, before[k] + _INSERT, costs[k - 1] + _SKIP))
    return min(range(len(costs)), key=lambda k: (costs[k], abs(k - len(beginning))))


def _bare(word: re.Match[str]) -> str:
    """Return a word without case and punctuation; one of punctuation alone stays as it is."""
    return re.sub(r"[^\w\s]", "", word.group()).casefold() or word.group()
