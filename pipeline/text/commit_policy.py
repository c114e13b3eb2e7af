"""Commit policies: which beginning of a growing text or translation stands for good. Pure.

`CommitPolicy` decides on tokens, with committed ones forced upon the recognizer's next decoding, so
that a text only grows:

`alignatt` commits what lies far enough before the end of the audio, since what is said next cannot
change it any more (Papi et al. 2023, "AlignAtt: Using Attention-based Audio-Translation Alignments
as a Guide for Simultaneous Speech Translation"; here by forced alignment after decoding instead of
attention while decoding).

`agreement` commits what two decodings in a row begin with (LocalAgreement-2, Liu et al. 2020).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

import numpy as np

from pipeline.core.standing import TargetPart, Token
from pipeline.text.words import is_unspaced, words

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
        # Kept of a refused decoding as well: agreement compares neighbours, whatever came of them.
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
            # Times do not go backwards here: the tokens that end early enough are the first ones.
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


HALF = "\ufffd"
"""What a token decodes to that is only a part of a character."""

WORD_MARK = "\u2581"
"""SentencePiece's space."""

_BYTE = "<0x"
"""Begins SentencePiece's name for a single byte."""


def begins_word(piece: str, before: str) -> bool:
    """Whether a word begins with `piece`, which stands behind `before`.

    In a script without spaces each letter is a word; behind half a character none begins.
    """
    if not piece or piece[0].isspace() or piece[0] == WORD_MARK:
        return True
    if before.endswith(HALF) or before.startswith(_BYTE):
        return False
    # What it will be is not known yet; where letters are words the next one begins here.
    if piece[0] == HALF or piece.startswith(_BYTE):
        return is_unspaced(before[-1:])
    if unicodedata.category(piece[0]).startswith("M"):  # a vowel above the letter before it
        return False
    return is_unspaced(piece[0]) or (is_unspaced(before[-1:]) and piece[0].isalnum())


def cut_to_words(pieces: Sequence[str], count: int, least: int = 0) -> int:
    """Return how many leading pieces, `count` at most, end where a word ends.

    The end of all pieces is taken for the end of a word; below `least` nothing is cut.
    """
    while least < count < len(pieces) and not begins_word(pieces[count], pieces[count - 1]):
        count -= 1
    return max(count, least)


def last_word(pieces: Sequence[str]) -> int:
    """Return the index of the piece with which the last word begins; punctuation belongs to it.

    0 where there is no word.
    """
    first = len(pieces) - 1
    while first > 0 and not any(map(str.isalnum, pieces[first])):
        first -= 1
    while first > 0 and not begins_word(pieces[first], pieces[first - 1]):
        first -= 1
    return max(first, 0)


Pieces = tuple[tuple[str, ...], ...]
"""Of each part of the text in turn."""

_ENOUGH = 6
"""So many pieces show whether a model's attention follows the text."""

_FOLLOWS = 0.3
"""Least correlation between the places of pieces and of what they look at."""


class TargetCommit:
    """Commits the translation of one utterance.

    A target word stands when its pieces were made of committed source words, as the translator's
    cross-attention shows (AlignAtt's rule, on text). Where attention says nothing, what two
    translations in a row begin with stands. Committed pieces are forced upon the next translation.

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
        # The text is cut into parts anew each time: two parts of before may be one now.
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
        # From the first piece that looks at words which may still change, nothing stands.
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
            # A later part counts only where all before it is committed, so the last end is the end.
            end = start + part.until[count - 1]
        # A part without text takes no space either.
        if part.until and part.until[-1]:
            start += part.until[-1] + 1
    return end


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
        # No utterance has this id: the first partial is compared with nothing.
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
