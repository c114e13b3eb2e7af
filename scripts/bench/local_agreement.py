"""LocalAgreement-2 over a growing buffer, the policy of whisper_streaming. Pure.

Liu et al. 2020 (LocalAgreement); Macháček, Dabre and Bojar 2023, "Turning Whisper into Real-Time
Transcription System", arXiv:2307.14743. The whole buffer is recognized again and again; words in
which two recognitions in a row agree are committed and never change; a long buffer is cut behind a
committed sentence. The policy only: words in, words out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from pipeline.text.local_agreement import common_beginning

_SENTENCE_END = re.compile(r"[.!?][\"'»”’)]*$")


class LocalAgreement:
    """What of a buffer is committed, while it is recognized again and again."""

    def __init__(self) -> None:
        self._gone: list[str] = []
        self._kept: list[str] = []
        self._last: list[str] = []
        """Of the latest hypothesis what lies behind the committed words."""

    @property
    def committed(self) -> list[str]:
        """All committed words, those whose sound is no longer in the buffer included."""
        return [*self._gone, *self._kept]

    @property
    def in_buffer(self) -> list[str]:
        """Committed words whose sound is still in the buffer."""
        return list(self._kept)

    def push(self, hypothesis: Sequence[str], *, final: bool = False) -> None:
        """Take the words recognized in the whole buffer; commit those that agree, or all if final.

        They need not begin with the committed words as these stand: what lies behind them is found
        by the least edits.
        """
        rest = list(hypothesis[after(self._kept, hypothesis) :])
        count = len(rest) if final else common_beginning(self._last, rest)
        self._kept += rest[:count]
        self._last = rest[count:]

    def cut_place(self) -> int:
        """Return behind how many committed words of the buffer it may be cut; 0: nowhere.

        That is behind the last committed sentence after which more is committed.
        """
        ends = [at + 1 for at, word in enumerate(self._kept[:-1]) if _SENTENCE_END.search(word)]
        return ends[-1] if ends else 0

    def cut(self, words: int) -> None:
        """Forget the sound of so many committed words at the beginning of the buffer."""
        self._gone += self._kept[:words]
        self._kept = self._kept[words:]


def after(committed: Sequence[str], hypothesis: Sequence[str]) -> int:
    """Return how many words of a hypothesis stand for the committed ones.

    By the least edits of letters: `tonight` may have become `to night`. Of several places that cost
    the same, the one that is nearest to as many words as committed.
    """
    told, heard = _letters(committed), [_letters([word]) for word in hypothesis]
    letters = "".join(heard)
    costs = list(range(len(letters) + 1))
    for row, letter in enumerate(told, 1):
        above, costs = costs, [row]
        for column, other in enumerate(letters, 1):
            change = above[column - 1] + (letter != other)
            costs.append(min(change, above[column] + 1, costs[-1] + 1))
    ends = [0, *accumulate(map(len, heard))]
    return min(range(len(ends)), key=lambda at: (costs[ends[at]], abs(at - len(committed))))


def _letters(text: Sequence[str]) -> str:
    return "".join(filter(str.isalnum, "".join(text).casefold()))
