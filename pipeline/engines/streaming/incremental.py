"""Streaming recognizers: they take only new audio, and report the committed text.

Callers of a `Recognizer` pass the whole utterance so far, so that the death of its process loses
nothing. `IncrementalRecognizer` compares the audio with what it already has, and pushes the rest.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.core.errors import EngineError
from pipeline.core.standing import Token
from pipeline.core.types import Pcm, Recognition, Word
from pipeline.engines.protocols import never
from pipeline.text.commit_policy import common_beginning

_NOTHING: Final[Pcm] = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, or a part of one, and when it was spoken."""

    id: int
    """Equal for equal text, in every process."""
    text: str
    """With a leading space if a word begins here."""
    start_s: float | None = None
    """Seconds from the first sample since the last reset; None if the recognizer cannot tell."""
    end_s: float | None = None
    probability: float | None = None
    """The recognizer's confidence, 0..1; None if it does not give one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The pieces recognized since the last reset."""

    committed: tuple[Piece, ...] = ()
    """The beginning, which the recognizer never changes."""
    tail: tuple[Piece, ...] = ()
    """The rest, which the next push may change."""


class IncrementalRecognizer(ABC):
    """A Recognizer that keeps its state between calls: it pushes only an utterance's new audio."""

    name: str
    hotwords = ""
    degraded_reason = ""
    gpu_layers = 0

    def __init__(self) -> None:
        # Not used: a push is short, and after a cancelled one all audio would be pushed again.
        self.is_cancelled: Callable[[], bool] = never
        self._heard: Pcm = _NOTHING
        self._is_over = False
        self._told: tuple[Piece, ...] = ()

    @abstractmethod
    def push(self, pcm: Pcm, *, is_last: bool = False) -> Heard:
        """Take the next samples, shape (n,), possibly none; return everything recognized so far.

        With `is_last` the speech is over and all of it is recognized. After that, or after any
        exception, the next call must be `reset`.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget all audio: other speech begins."""

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError `stt-failed`.

        A partial keeps the pieces with the ids `prefix` if the partial before it began with them:
        a streaming recognizer cannot be forced to begin with others. Finals have `words`.
        """
        if not pcm.size:
            return Recognition("")
        try:
            heard = self.push(self._rest(pcm), is_last=final)
        except Exception as error:
            # The recognizer's state is unusable: the next call passes all audio again.
            self._begin()
            raise EngineError("stt-failed", f"{self.name}: {error}.") from error
        self._heard, self._is_over = pcm, final
        pieces = (*heard.committed, *heard.tail)
        if final:
            # The next partial belongs to another utterance.
            self._told = ()
            return Recognition(_text(pieces), words=words_of(pieces))
        # A commit policy returns only ids; the pieces also have times.
        kept = self._told[: len(prefix)]
        if [piece.id for piece in kept] == list(prefix):
            pieces = keep(kept, pieces)
        self._told = pieces
        return partial_of(pieces, _common(heard.committed, pieces))

    def _rest(self, pcm: Pcm) -> Pcm:
        """Return the new part of an utterance; all of it if it differs from the known audio."""
        # Compare samples: a request does not name its utterance.
        known = len(self._heard)
        # A finished utterance takes no more audio, even if the new one begins the same.
        if not self._is_over and np.array_equal(pcm[:known], self._heard):
            return pcm[known:]
        self._begin()
        return pcm

    def _begin(self) -> None:
        # First: if the reset raises, no audio may count as known.
        self._heard, self._is_over = _NOTHING, False
        self.reset()


def keep(standing: Sequence[Piece], pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return `pieces` with `standing` for their beginning.

    Pieces spoken after `standing` follow it. A piece is later if its middle is: the times of a word
    differ a little when it is recognized again. Without times, pieces are counted.
    """
    if not standing or _common(standing, pieces) == len(standing):
        return tuple(pieces)
    middles_s, end_s = [_middle_s(piece) for piece in pieces], standing[-1].end_s
    later = pieces[len(standing) :]
    if end_s is not None and None not in middles_s:
        # `or 0.0` is only for the type checker: no time is None here.
        later = [p for p, at_s in zip(pieces, middles_s, strict=True) if (at_s or 0.0) > end_s]
    return (*standing, *later)


def _middle_s(piece: Piece) -> float | None:
    if piece.start_s is None or piece.end_s is None:
        return None
    return (piece.start_s + piece.end_s) / 2


def piece_id(text: str) -> int:
    """Return an id for a piece from a recognizer without ids."""
    # Not `hash`, which differs between processes.
    return zlib.crc32(text.encode())


def partial_of(pieces: Sequence[Piece], committed: int = 0) -> Recognition:
    """Return the text of a partial with its tokens for a commit policy."""
    text = _text(pieces)
    tokens: list[Token] = []
    so_far = ""
    for piece in pieces:
        so_far += piece.text
        tokens.append(Token(piece.id, piece.text, min(len(text), len(so_far.lstrip()))))
    ends_s = tuple(piece.end_s for piece in pieces if piece.end_s is not None)
    # All or none: a policy matches times to tokens by position.
    ends_s = ends_s if len(ends_s) == len(pieces) else ()
    return Recognition(text, tokens=tuple(tokens), ends_s=ends_s, committed=committed)


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces).strip()


def words_of(pieces: Sequence[Piece]) -> tuple[Word, ...]:
    """Return the words with their probabilities, () unless all have one."""
    sure = [
        (each.text.strip(), each.probability) for each in pieces if each.probability is not None
    ]
    if len(sure) < len(pieces):
        return ()
    return tuple(Word(text, round(probability, 4)) for text, probability in sure)


def _common(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    """Return the number of common pieces at the beginning; their times may differ."""
    return common_beginning([piece.id for piece in first], [piece.id for piece in second])
