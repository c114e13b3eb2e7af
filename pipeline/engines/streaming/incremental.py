"""Streaming recognizers: they hear only what is new, and say what is fixed.

Everything behind a recognizer asks with the whole utterance so far, since a process that dies must
cost nothing (`Recognizer`). `IncrementalRecognizer` makes one of those of a streaming one: it
compares with what that has heard already, and hands on the rest.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

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
    """The same for the same text, in every process."""
    text: str
    """With the space before it where a word begins."""
    start_s: float | None = None
    """Seconds from the first sample since the last reset; None if the recognizer cannot tell."""
    end_s: float | None = None
    probability: float | None = None
    """How sure the recognizer is of it, 0..1; None if it does not tell."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What was recognized since the last reset."""

    committed: tuple[Piece, ...] = ()
    """The beginning, which the recognizer will never change."""
    tail: tuple[Piece, ...] = ()
    """The rest, of which the next push may make something else."""


class StreamingRecognizer(Protocol):
    """Speech to text that keeps what it has heard. It belongs to one thread."""

    @property
    def name(self) -> str:
        """Engine and model, for records."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError, ConfigError."""

    def push(self, pcm: Pcm, *, is_last: bool = False) -> Heard:
        """Take the next samples, shape (n,), which may be none; return all that was heard so far.

        With `is_last` the speech is over, and everything in it is recognized; only a reset may
        follow. Whatever is raised, so must one.
        """

    def reset(self) -> None:
        """Forget what was heard: other speech begins."""


class IncrementalRecognizer:
    """A Recognizer of a streaming one, which gets of each utterance only what it has not heard."""

    hotwords = ""
    degraded_reason = ""
    gpu_layers = 0

    def __init__(self, stream: StreamingRecognizer) -> None:
        self._stream = stream
        # Not asked: a push is over soon, and one that was given up would have to be heard anew.
        self.is_cancelled: Callable[[], bool] = never
        self._heard: Pcm = _NOTHING
        self._is_over = False
        self._told: tuple[Piece, ...] = ()

    @property
    def name(self) -> str:
        """Engine and model."""
        return self._stream.name

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError, ConfigError."""
        self._stream.load()

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError `stt-failed`.

        A partial keeps the pieces with these ids if they are what the one before it began with: a
        streaming recognizer cannot be made to begin with others. Finals tell of their words.
        """
        if not pcm.size:
            return Recognition("")
        try:
            heard = self._stream.push(self._rest(pcm), is_last=final)
        except Exception as error:
            # What the recognizer has kept is of no use: the next call tells it everything anew.
            self._begin()
            raise EngineError("stt-failed", f"{self.name}: {error}.") from error
        self._heard, self._is_over = pcm, final
        pieces = (*heard.committed, *heard.tail)
        if final:
            # The next partial is of another utterance.
            self._told = ()
            return Recognition(_text(pieces), words=_words(pieces))
        # A policy gives back ids alone; the pieces know when they were spoken.
        standing = self._told[: len(prefix)]
        if [piece.id for piece in standing] == list(prefix):
            pieces = keep(standing, pieces)
        self._told = pieces
        return partial_of(pieces, _common(heard.committed, pieces))

    def _rest(self, pcm: Pcm) -> Pcm:
        """Return what of an utterance was not heard; all of it where other sound was."""
        # By the samples: a request does not say to which utterance it belongs.
        known = len(self._heard)
        # One that is over takes no more sound, though the new one began the same.
        if not self._is_over and np.array_equal(pcm[:known], self._heard):
            return pcm[known:]
        self._begin()
        return pcm

    def _begin(self) -> None:
        # First: where the reset raises, nothing must count as heard.
        self._heard, self._is_over = _NOTHING, False
        self._stream.reset()


def keep(standing: Sequence[Piece], pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return `pieces` with `standing` for their beginning.

    Behind it stays what was spoken later, by the middle of each piece: where a word that stands is
    heard again its times are a little different. Without times the pieces are counted.
    """
    if not standing or _common(standing, pieces) == len(standing):
        return tuple(pieces)
    middles_s, end_s = [_middle_s(piece) for piece in pieces], standing[-1].end_s
    later = pieces[len(standing) :]
    if end_s is not None and None not in middles_s:
        # For the type checker alone: none of them is None here.
        later = [p for p, at_s in zip(pieces, middles_s, strict=True) if (at_s or 0.0) > end_s]
    return (*standing, *later)


def _middle_s(piece: Piece) -> float | None:
    if piece.start_s is None or piece.end_s is None:
        return None
    return (piece.start_s + piece.end_s) / 2


def piece_id(text: str) -> int:
    """Return an id for a piece of a recognizer that gives none."""
    # Not `hash`, which is another one in every process.
    return zlib.crc32(text.encode())


def partial_of(pieces: Sequence[Piece], committed: int = 0) -> Recognition:
    """Return the text of a partial with the tokens that a commit policy decides on."""
    text = _text(pieces)
    tokens: list[Token] = []
    so_far = ""
    for piece in pieces:
        so_far += piece.text
        tokens.append(Token(piece.id, piece.text, min(len(text), len(so_far.lstrip()))))
    ends_s = tuple(piece.end_s for piece in pieces if piece.end_s is not None)
    # All or none: a policy takes the times by the places of the tokens.
    ends_s = ends_s if len(ends_s) == len(pieces) else ()
    return Recognition(text, tokens=tuple(tokens), ends_s=ends_s, committed=committed)


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces).strip()


def _words(pieces: Sequence[Piece]) -> tuple[Word, ...]:
    """Return the words and how sure the recognizer is of them, () if it does not tell of all."""
    sure = [
        (each.text.strip(), each.probability) for each in pieces if each.probability is not None
    ]
    if len(sure) < len(pieces):
        return ()
    return tuple(Word(text, round(probability, 4)) for text, probability in sure)


def _common(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    """Return how many pieces both begin with; heard again, they may have other times."""
    return common_beginning([piece.id for piece in first], [piece.id for piece in second])
