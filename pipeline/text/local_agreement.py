"""Find the leading part of a partial caption on which two partials in a row agree.

LocalAgreement-2 on words (Liu et al. 2020; used for streaming Whisper by Macháček et al. 2023),
applied to the target text: what consecutive partials agree on is shown solid, the rest dimmed.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from pipeline.text.words import words

_WORD = re.compile(r"\S+")


def agreed(previous: str, text: str) -> int:
    """Return how many leading characters of `text` end at the last word both texts begin with."""
    end = 0
    for before, now in zip(_WORD.finditer(previous), _WORD.finditer(text), strict=False):
        if before.group() != now.group():
            break
        end = now.end()
    return end


def revised_words(standing: str, text: str) -> int:
    """Return how many words of `standing` are not in `text` any more, in their order.

    Case and punctuation do not count.
    """
    before, now = words(standing), words(text)
    same = SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    return len(before) - sum(block.size for block in same)


class Stabilizer:
    """Remembers the latest partial of the utterance being spoken."""

    def __init__(self) -> None:
        self._id = -1
        self._text = ""

    def push(self, id: int, text: str, *, final: bool) -> int:  # noqa: A002 - the protocol's word
        """Return the stable characters of this revision; all of them when it is final."""
        stable = len(text) if final else agreed(self._text if id == self._id else "", text)
        self._id, self._text = id, text
        return stable
