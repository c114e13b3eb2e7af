"""Find the leading part of a partial caption on which two partials in a row agree. Pure.

LocalAgreement-2 on words (Liu et al. 2020; used for streaming Whisper by Macháček et al. 2023),
applied to the target text: what consecutive partials agree on is shown solid, the rest dimmed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from pipeline.text.words import words

_WORD = re.compile(r"\S+")


def agreed(previous: str, text: str) -> int:
    """Return how many leading characters of `text` end at the last word both texts begin with."""
    end = 0
    for before, now in zip(_WORD.finditer(previous), _WORD.finditer(text), strict=False):
        # By whole words: of a word that still grows its beginning is not stable.
        if before.group() != now.group():
            break
        end = now.end()
    return end


def common_beginning(old: Sequence[object], new: Sequence[object]) -> int:
    """Return how many words, pieces or ids of tokens both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def revised_words(standing: str, text: str) -> int:
    """Return how many words of `standing` are not in `text` any more, in their order.

    Case and punctuation do not count.
    """
    before, now = words(standing), words(text)
    # autojunk would take the commonest words of a long text for noise, and count them as revised.
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


def normalized_erasure(texts: Sequence[str]) -> float | None:
    """Return the words taken back per word of the last text, None if that text is empty.

    Of each text, the words behind its longest common beginning with the next one are erased
    (Niehues et al. 2016, "Dynamic Transcription for Low-Latency Speech Translation"; over the
    final length: Arivazhagan et al. 2020, "Re-translation versus Streaming for Simultaneous
    Translation"). 0 is a text that only grew.
    """
    lines = [text.split() for text in texts]  # by words: people do not see single letters change
    if not lines or not lines[-1]:
        return None
    erased = sum(len(old) - common_beginning(old, new) for old, new in pairwise(lines))
    return erased / len(lines[-1])
