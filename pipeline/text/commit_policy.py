"""Commit policies: which beginning of a growing text stands for good. Pure.

Both decide on tokens, with committed ones forced upon the recognizer's next decoding, so that a
text only grows:

`alignatt` commits what lies far enough before the end of the audio, since what is said next cannot
change it any more (Papi et al. 2023, "AlignAtt: Using Attention-based Audio-Translation Alignments
as a Guide for Simultaneous Speech Translation"; here by forced alignment after decoding instead of
attention while decoding).

`agreement` commits what two decodings in a row begin with (LocalAgreement-2, Liu et al. 2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pipeline.core.standing import Token
from pipeline.text.boundaries import cut_to_words, last_word
from pipeline.text.local_agreement import common_beginning

Policy = Literal["alignatt", "agreement"]


@dataclass(frozen=True, slots=True)
class Commit:
    """A text in two: `committed` stands, `tail` may change. `reason`: why agreement decided."""

    committed: tuple[Token, ...]
    tail: tuple[Token, ...]
    reason: str = ""


class CommitPolicy:
    """Commits the tokens of one utterance. `behind_s`: seconds before the end of the audio."""

    def __init__(self, policy: Policy = "alignatt", behind_s: float = 0.5) -> None:
        self._policy = policy
        self._behind_s = behind_s
        self._before: list[int] = []
        self.committed: tuple[Token, ...] = ()

    def push(
        self,
        tokens: Sequence[Token],
        ends_s: Sequence[float],
        audio_s: float,
        *,
        is_final: bool,
        unchanging: int = 0,
    ) -> Commit:
        """Take a decoding of the utterance so far; return what stands of it.

        `ends_s` has the end of each token in `audio_s` seconds of audio; `unchanging` are leading
        tokens that the recognizer never takes back, so that nothing is to be waited for. What was
        committed stays committed, whatever comes, until the final, of which all is. Of a decoding
        that does not begin with it nothing is committed. The last word is never, nor a mark behind
        it: the word may be half of one, and a full stop there is a guess.
        """
        tokens = tuple(tokens)
        if is_final:
            self.committed = tokens
            return Commit(tokens, ())
        ids = _ids(tokens)
        same = common_beginning(_ids(self.committed), ids)
        before, self._before = self._before, ids
        # It was forced to begin so, and does not. To believe it would take back what people have
        # read.
        if same < len(self.committed):
            return Commit(self.committed, tokens[same:], "the text does not begin as committed")
        # Times that say nothing would commit everything at once, or never: then agreement decides.
        reason = "" if self._policy == "agreement" else _unusable(tokens, ends_s, audio_s)
        if self._policy == "agreement" or reason:
            count = common_beginning(before, ids)
        else:
            count = sum(end_s <= audio_s - self._behind_s for end_s in ends_s)
        count = max(count, unchanging)
        texts = [token.text for token in tokens]
        count = cut_to_words(texts, min(count, last_word(texts)), least=same)
        self.committed = tokens[:count]
        return Commit(self.committed, tokens[count:], reason)


def _ids(tokens: Sequence[Token]) -> list[int]:
    # Where in the text a token ends may differ between two decodings that begin alike.
    return [token.id for token in tokens]


def _unusable(tokens: Sequence[Token], ends_s: Sequence[float], audio_s: float) -> str:
    """Return why times of tokens say nothing, "" if they do."""
    if len(ends_s) != len(tokens):
        return "the recognizer tells no times"
    if not all(map(math.isfinite, (*ends_s, audio_s))):
        return "a time is no number"
    # Forced alignment does so with words that were not spoken.
    if any(later < earlier for earlier, later in pairwise(ends_s)):
        return "times go backwards"
    return ""
