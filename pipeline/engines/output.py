"""Assemble a translator's output: pieces of an answer, parts that make a whole. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.core.languages import language
from pipeline.core.types import Translation
from pipeline.text import repetition


class WholeWords:
    """Collects the bytes that a model makes and calls `grow` with the text so far.

    Only with whole words, since the last one may go on; in a language without spaces with whole
    characters.
    """

    def __init__(self, lang: str, grow: Callable[[str], None]) -> None:
        # Incremental: the bytes of a character that a piece cuts in two wait for the next piece.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._spaced = language(lang).has_spaces
        self._grow = grow
        self._text = ""
        self._shown = ""

    def add(self, piece: bytes) -> None:
        """Take the next bytes, which may end within a character."""
        self._text += self._decoder.decode(piece)
        whole = self._text
        if self._spaced:
            # A line break ends a word, too: `one_line` makes a space of it.
            whole = whole[: max(whole.rfind(" "), whole.rfind("\n"), 0)]
        whole = one_line(whole)
        # Within a word nothing changes on screen, and each call is a message to the daemon.
        if whole != self._shown:
            self._shown = whole
            self._grow(whole)


def one_line(text: str) -> str:
    """Return `text` with single spaces for all white space: a caption is one line."""
    return " ".join(text.split())


def growing(
    on_text: Callable[[str], None] | None, parts: Sequence[Translation]
) -> Callable[[str], None]:
    """Return what takes a part as it grows, and gives `on_text` all so far.

    `parts` are those before it; the caller adds each when it is done.
    """

    def grow(part: str) -> None:
        if on_text is not None:
            # Looked up at each call: the caller adds parts meanwhile.
            on_text(" ".join([*(before.text for before in parts), part]))

    return grow


def join(engine: str, parts: Sequence[Translation]) -> Translation:
    """Return the whole: texts joined by spaces, counts summed, confidence weighted by tokens.

    `stopped` is that of the first part that was cut off, else "end".
    """
    tokens = sum(part.tokens for part in parts)
    # By tokens: a part of two words must not count as much as one of thirty.
    logprob = sum((part.avg_logprob or 0.0) * part.tokens for part in parts)
    return Translation(
        text=" ".join(part.text for part in parts if part.text),
        engine=engine,
        tokens=tokens,
        avg_logprob=logprob / tokens if tokens else None,
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        reused_tokens=sum(part.reused_tokens for part in parts),
        draft_tokens=sum(part.draft_tokens for part in parts),
        parts=tuple(told for part in parts for told in part.parts),
        repairs=tuple(repair for part in parts for repair in part.repairs),
        # Alternatives of one sentence say nothing about the whole text.
        alternatives=parts[0].alternatives if len(parts) == 1 else (),
        stopped=next((part.stopped for part in parts if part.stopped != "end"), "end"),
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """What a model has written since the piece before."""

    text: str
    finish: str = ""
    """Why it is the last one: `stop` or `length`; "" while there are more."""
    prompt_tokens: int = 0
    tokens: int = 0
    """Of the whole answer, where the model says so; with the last piece or after it."""


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
    text, written, tokens, prompt_tokens = "", 0, 0, 0
    stopped: Literal["end", "length", "loop"] = "end"
    for piece in pieces:
        text += piece.text
        written += bool(piece.text)
        # One piece of all, or none, brings the count; the others have 0.
        tokens = piece.tokens or tokens
        prompt_tokens = piece.prompt_tokens or prompt_tokens
        stopped = "length" if piece.finish == "length" else stopped
        # JSON can hold half of a surrogate pair, which UTF-8 cannot.
        words.add(piece.text.encode(errors="replace"))
        # Only where a word has ended: the last one may still grow.
        if " " in piece.text and repetition.at_end(repetition.words(text), repeats):
            stopped = "loop"
            break
    return Translation(
        # The last piece may hold `end` and more behind it.
        text=one_line(text.partition(end)[0]),
        engine=engine,
        # Who does not count sends about a token at a time.
        tokens=tokens or written,
        prompt_tokens=prompt_tokens,
        stopped=stopped,
    )
