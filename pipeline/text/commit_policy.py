"""Commit policies: which prefix of a growing text or translation is committed. Pure.

`CommitPolicy` decides on tokens. The recognizer's next decoding must begin with the committed
tokens, so that a text only grows:

`alignatt` commits tokens far enough before the end of the audio, since later speech cannot change
them any more (Papi et al. 2023, "AlignAtt: Using Attention-based Audio-Translation Alignments as a
Guide for Simultaneous Speech Translation"; here with forced alignment after decoding instead of
attention while decoding).

`agreement` commits the common prefix of two decodings in a row (LocalAgreement-2, Liu et al. 2020).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

import numpy as np

from pipeline.core.standing import TargetPart, Token
from pipeline.text.words import SHOWN_WORD, is_unspaced, words

Policy = Literal["alignatt", "agreement"]


@dataclass(frozen=True, slots=True)
class Commit:
    """A text in two parts: only `tail` may change. `reason` tells why agreement decided."""

    committed: tuple[Token, ...]
    tail: tuple[Token, ...]
    reason: str = ""


class CommitPolicy:
    """Commits the tokens of one utterance up to `behind_s` seconds before the audio's end."""

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
        unchanging: int = 0,
    ) -> Commit:
        """Take a decoding of the utterance so far; return its committed part and its tail.

        `ends_s` has the end of each token in `audio_s` seconds of audio. `unchanging` is the number
        of leading tokens that the recognizer never takes back, so they need no wait. Committed
        tokens stay committed. A decoding that does not begin with them commits nothing. The last
        word and a mark after it are never committed: it may be half a word, and a full stop there
        is a guess.
        """
        tokens = tuple(tokens)
        ids = _ids(tokens)
        same = common_beginning(_ids(self.committed), ids)
        # Kept for a refused decoding too: agreement compares all decodings that follow each other.
        before, self._before = self._before, ids
        # It was forced to begin with the committed tokens and does not. To accept it would take
        # back words that people have read.
        if same < len(self.committed):
            return Commit(self.committed, tokens[same:], "the text does not begin as committed")
        # Unusable times would commit everything at once, or nothing: then agreement decides.
        reason = "" if self._policy == "agreement" else _unusable(tokens, ends_s, audio_s)
        if self._policy == "agreement" or reason:
            count = common_beginning(before, ids)
        else:
            # Times never decrease here, so the tokens that end early enough are the first ones.
            count = sum(end_s <= audio_s - self._behind_s for end_s in ends_s)
        count = max(count, unchanging)
        texts = [token.text for token in tokens]
        count = cut_to_words(texts, min(count, last_word(texts)), least=same)
        self.committed = tokens[:count]
        return Commit(self.committed, tokens[count:], reason)


def _ids(tokens: Sequence[Token]) -> list[int]:
    # Only ids: a token's end in the text may differ between two decodings that begin alike.
    return [token.id for token in tokens]


def _unusable(tokens: Sequence[Token], ends_s: Sequence[float], audio_s: float) -> str:
    """Return why the tokens' times are unusable, "" if they are usable."""
    if len(ends_s) != len(tokens):
        return "the recognizer tells no times"
    if not all(map(math.isfinite, (*ends_s, audio_s))):
        return "a time is no number"
    # Forced alignment gives such times for words that were not spoken.
    if any(later < earlier for earlier, later in pairwise(ends_s)):
        return "times go backwards"
    return ""


HALF = "\ufffd"
"""The decoded text of a token that is only a part of a character."""

WORD_MARK = "\u2581"
"""SentencePiece's space."""

_BYTE = "<0x"
"""Prefix of SentencePiece's name for a single byte."""


def begins_word(piece: str, before: str) -> bool:
    """Whether a word begins with `piece`, which follows `before`.

    In a script without spaces each letter is a word. No word begins after half a character.
    """
    if not piece or piece[0].isspace() or piece[0] == WORD_MARK:
        return True
    if before.endswith(HALF) or before.startswith(_BYTE):
        return False
    # The character is not known yet; in scripts where letters are words it begins the next one.
    if piece[0] == HALF or piece.startswith(_BYTE):
        return is_unspaced(before[-1:])
    if unicodedata.category(piece[0]).startswith("M"):  # a vowel above the letter before it
        return False
    return is_unspaced(piece[0]) or (is_unspaced(before[-1:]) and piece[0].isalnum())


def cut_to_words(pieces: Sequence[str], count: int, least: int = 0) -> int:
    """Return the number of leading pieces, at most `count`, that end at the end of a word.

    The end of all pieces counts as the end of a word; the result is at least `least`.
    """
    while least < count < len(pieces) and not begins_word(pieces[count], pieces[count - 1]):
        count -= 1
    return max(count, least)


def last_word(pieces: Sequence[str]) -> int:
    """Return the index of the last word's first piece, 0 without a word.

    Punctuation belongs to the word.
    """
    first = len(pieces) - 1
    while first > 0 and not any(map(str.isalnum, pieces[first])):
        first -= 1
    while first > 0 and not begins_word(pieces[first], pieces[first - 1]):
        first -= 1
    return max(first, 0)


Pieces = tuple[tuple[str, ...], ...]
"""The pieces of each part of the text, in order."""

_ENOUGH = 6
"""Least number of pieces to tell whether a model's attention follows the text."""

_FOLLOWS = 0.3
"""Least correlation between the positions of pieces and the positions that they attend to."""


class TargetCommit:
    """Commits the translation of one utterance.

    A target word is committed when the translator's cross-attention shows that its pieces come from
    committed source words (AlignAtt's rule, on text). If attention is unusable, the common prefix
    of two translations in a row is committed. The next translation must begin with it.

    `attention_follows` is the knowledge about the translator so far; a longer text may change it.
    """

    def __init__(self, *, attention_follows: bool = True) -> None:
        self.attention_follows = attention_follows
        self._before: Pieces = ()
        self.committed: Pieces = ()
        self.closed = 0
        """Number of leading parts whose source and target are completely committed."""

    def push(self, parts: Sequence[TargetPart]) -> int:
        """Take a translation of the speech so far; return its number of committed characters.

        The parts are joined by spaces. Committed pieces stay committed. If a part does not begin
        with them (it was not forced to), only the common prefix counts.
        """
        if not parts:
            return 0
        # The text is split into parts each time: two earlier parts may be one now.
        forced = regrouped(self.committed, len(parts))
        before, self._before = self._before, tuple(part.pieces for part in parts)
        counts: list[int] = []
        kept = list(forced)
        self.closed = 0
        for place, part in enumerate(parts):
            old = forced[place] if place < len(forced) else ()
            same = common_beginning(old, part.pieces)
            # Nothing is inserted between committed words, so a part before some cannot grow.
            if same < len(old) or (len(part.pieces) > same and any(forced[place + 1 :])):
                counts.append(same)
                break
            counts.append(self._count(part, len(old), before[place] if place < len(before) else ()))
            kept[place : place + 1] = [part.pieces[: counts[-1]]]
            # Nothing can be committed after a part that may still change.
            if not part.is_whole:
                break
            self.closed += 1
        self.committed = tuple(kept)
        return _characters(parts, counts)

    def _count(self, part: TargetPart, least: int, before: Sequence[str]) -> int:
        """Return how many pieces of a part are committed; `least` were committed before."""
        if part.is_whole:
            return len(part.pieces)
        # A few pieces correlate by chance.
        if len(part.looked_at) >= _ENOUGH:
            self.attention_follows = follows(part.looked_at)
        # Commit only up to the first piece that attends to words which may still change.
        if part.looked_at and self.attention_follows:
            unsettled = (
                i for i in range(least, len(part.pieces)) if part.looked_at[i] >= part.settled
            )
            count = next(unsettled, len(part.pieces))
        else:
            count = common_beginning(before, part.pieces)
        return cut_to_words(part.pieces, min(count, last_word(part.pieces)), least)


def regrouped(pieces: Pieces, count: int) -> Pieces:
    """Return committed pieces for a text that is now split into `count` parts, 1 or more.

    If there are fewer parts than before, the last one gets all remaining pieces.
    """
    if len(pieces) <= count or not count:
        return pieces
    rest = tuple(piece for part in pieces[count - 1 :] for piece in part)
    return (*pieces[: count - 1], rest)


def follows(looked_at: Sequence[int]) -> bool:
    """Whether attention moves through the source as the target grows.

    Attention to one fixed position, or to random ones, would commit everything at once, or nothing.
    """
    # The correlation with a constant is nan.
    if len(set(looked_at)) < 2:
        return False
    return bool(np.corrcoef(range(len(looked_at)), looked_at)[0, 1] >= _FOLLOWS)


def _characters(parts: Sequence[TargetPart], counts: Sequence[int]) -> int:
    """Return how many characters of the joined parts the given counts of pieces cover."""
    end = start = 0
    for part, count in zip(parts, counts, strict=False):
        if count:
            # A later part counts only if all before it is committed, so the last end is the end.
            end = start + part.until[count - 1]
        # A part without text adds no space either.
        if part.until and part.until[-1]:
            start += part.until[-1] + 1
    return end


def agreed(previous: str, text: str) -> int:
    """Return the length of the words of `text` with which both texts begin."""
    end = 0
    for before, now in zip(SHOWN_WORD.finditer(previous), SHOWN_WORD.finditer(text), strict=False):
        # By whole words, since the beginning of a word that still grows is not stable.
        if before.group() != now.group():
            break
        end = now.end()
    return end


def common_beginning(old: Sequence[object], new: Sequence[object]) -> int:
    """Return the length of the common prefix of words, pieces or token ids."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def revised_words(standing: str, text: str) -> int:
    """Return how many words of `standing` are missing from `text`, in their order.

    Case and punctuation do not count.
    """
    before, now = words(standing), words(text)
    # autojunk would treat the commonest words of a long text as noise, and count them as revised.
    same = SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    return len(before) - sum(block.size for block in same)


class Stabilizer:
    """Compares each partial of the current utterance with the previous one."""

    def __init__(self) -> None:
        # No utterance has this id, so the first partial is compared with nothing.
        self._id = -1
        self._text = ""

    def push(self, id: int, text: str) -> int:  # noqa: A002 - the protocol's word
        """Return the number of stable characters of this revision."""
        stable = agreed(self._text if id == self._id else "", text)
        self._id, self._text = id, text
        return stable


def normalized_erasure(texts: Sequence[str]) -> float | None:
    """Return the erased words per word of the last text, None if that text is empty.

    A text's erased words are those after its longest common prefix with the next text
    (Niehues et al. 2016, "Dynamic Transcription for Low-Latency Speech Translation"; over the
    final length: Arivazhagan et al. 2020, "Re-translation versus Streaming for Simultaneous
    Translation"). 0 means that the text only grew.
    """
    # By words: readers do not notice single letters.
    lines = [SHOWN_WORD.findall(text) for text in texts]
    if not lines or not lines[-1]:
        return None
    erased = sum(len(old) - common_beginning(old, new) for old, new in pairwise(lines))
    return erased / len(lines[-1])
