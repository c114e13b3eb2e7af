"""Read what a model writes, piece by piece, until it ends or goes round in a loop. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.core.types import Translation
from pipeline.engines.output import WholeWords, one_line
from pipeline.text import repetition


@dataclass(frozen=True, slots=True)
class Piece:
    """What a model has written since the piece before."""

    text: str
    finish: str = ""
    """Why it is the last one: `stop` or `length`; "" while there are more."""
    prompt_tokens: int = 0
    tokens: int = 0
    """Of the whole answer, where that is told; with the last piece or after it."""


def read_answer(
    pieces: Iterable[Piece],
    *,
    engine: str,
    source: str,
    target: str,
    end: str,
    grow: Callable[[str], None],
) -> Translation:
    """Return the translation of `source` into the language `target` that the pieces make up.

    It ends before `end`; one that goes round in a loop is left. `grow` gets the text so far, whole
    words only.
    """
    words = WholeWords(target, grow)
    repeats = repetition.longest(repetition.words(source)).count
    answer = _Answer()
    for piece in pieces:
        answer.add(piece)
        words.add(piece.text.encode(errors="replace"))
        # Only where a word has ended: the last one may still grow.
        if " " in piece.text and repetition.at_end(repetition.words(answer.text), repeats):
            answer.stopped = "loop"
            break
    return Translation(
        text=one_line(answer.text.partition(end)[0]),
        engine=engine,
        # Who does not count sends about a token at a time.
        tokens=answer.tokens or answer.pieces,
        prompt_tokens=answer.prompt_tokens,
        stopped=answer.stopped,
    )


class _Answer:
    """What has been written so far, and how it ended."""

    def __init__(self) -> None:
        self.text = ""
        self.pieces = 0
        self.tokens = 0
        self.prompt_tokens = 0
        self.stopped: Literal["end", "length", "loop"] = "end"

    def add(self, piece: Piece) -> None:
        """Take the next piece."""
        self.text += piece.text
        self.pieces += bool(piece.text)
        self.tokens = piece.tokens or self.tokens
        self.prompt_tokens = piece.prompt_tokens or self.prompt_tokens
        if piece.finish == "length":
            self.stopped = "length"
