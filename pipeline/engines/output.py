"""Assemble a translator's output: pieces of an answer, parts of a text. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.core.languages import language
from pipeline.core.types import Translation
from pipeline.text import repetition


class WholeWords:
    """Collects the bytes of a model's output and calls `grow` with the text so far.

    `grow` gets whole words only, because the last one may continue; in a language without spaces
    it gets whole characters.
    """

    def __init__(self, lang: str, grow: Callable[[str], None]) -> None:
        # Incremental: the bytes of an incomplete character wait for the next piece.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._spaced = language(lang).has_spaces
        self._grow = grow
        self._text = ""
        self._shown = ""

    def add(self, piece: bytes) -> None:
        """Add the next bytes, which may end inside a character."""
        self._text += self._decoder.decode(piece)
        whole = self._text
        if self._spaced:
            # A line break ends a word too: `one_line` turns it into a space.
            whole = whole[: max(whole.rfind(" "), whole.rfind("\n"), 0)]
        whole = one_line(whole)
        # Inside a word nothing changes on screen, and each call is a message to the daemon.
        if whole != self._shown:
            self._shown = whole
            self._grow(whole)


class Growing:
    """Passes on a growing text, except what an earlier attempt has already shown."""

    def __init__(self, grow: Callable[[str], None]) -> None:
        self._grow = grow
        self._most = 0

    def to(self, text: str) -> None:
        """Take the text so far."""
        # Compare lengths: at temperature 0 another attempt starts with the same words.
        if len(text) > self._most:
            self._most = len(text)
            self._grow(text)


def one_line(text: str) -> str:
    """Return `text` with single spaces for all white space: a caption is one line."""
    return " ".join(text.split())


def growing(
    on_text: Callable[[str], None] | None, parts: Sequence[Translation]
) -> Callable[[str], None]:
    """Return a callback for a growing part, which calls `on_text` with the whole text so far.

    `parts` are the parts before it; the caller adds each part when it is done.
    """

    def grow(part: str) -> None:
        if on_text is not None:
            # Read at each call, because the caller adds parts meanwhile.
            on_text(" ".join([*(before.text for before in parts), part]))

    return grow


def join(engine: str, parts: Sequence[Translation]) -> Translation:
    """Return the joined translation: texts joined by spaces, counts summed, confidence averaged.

    `stopped` is the value of the first part that was cut off, else "end".
    """
    tokens = sum(part.tokens for part in parts)
    # Weighted by tokens: a part of two words must not count as much as one of thirty.
    logprob = sum((part.avg_logprob or 0.0) * part.tokens for part in parts)
    return Translation(
        text=" ".join(part.text for part in parts if part.text),
        engine=engine,
        tokens=tokens,
        avg_logprob=logprob / tokens if tokens else None,
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        reused_tokens=sum(part.reused_tokens for part in parts),
        draft_tokens=sum(part.draft_tokens for part in parts),
        parts=tuple(each for part in parts for each in part.parts),
        repairs=tuple(repair for part in parts for repair in part.repairs),
        # Alternatives of one sentence say nothing about the whole text.
        alternatives=parts[0].alternatives if len(parts) == 1 else (),
        stopped=next((part.stopped for part in parts if part.stopped != "end"), "end"),
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """A model's output since the previous piece."""

    text: str
    finish: str = ""
    """Why this is the last piece: `stop` or `length`; "" if more follow."""
    prompt_tokens: int = 0
    tokens: int = 0
    """Tokens of the whole answer, if the model reports it; with the last piece or after it."""


def read_answer(
    pieces: Iterable[Piece],
    *,
    engine: str,
    source: str,
    target: str,
    end: str,
    grow: Callable[[str], None],
) -> Translation:
    """Return the translation of `source` into the language `target` from its pieces.

    It ends before `end`. Reading stops at a loop. `grow` gets the text so far, whole words only.
    """
    words = WholeWords(target, grow)
    repeats = repetition.longest(repetition.words(source)).count
    text, shown, written, tokens, prompt_tokens = "", "", 0, 0, 0
    stopped: Literal["end", "length", "loop"] = "end"
    for piece in pieces:
        text += piece.text
        written += bool(piece.text)
        # At most one piece holds the count; the others hold 0.
        tokens = piece.tokens or tokens
        prompt_tokens = piece.prompt_tokens or prompt_tokens
        stopped = "length" if piece.finish == "length" else stopped
        before, shown = shown, text.partition(end)[0]
        # JSON can hold a lone surrogate, which UTF-8 cannot encode.
        words.add(shown[len(before) :].encode(errors="replace"))
        # Only after the end of a word: the last word may still grow.
        if " " in piece.text and repetition.at_end(repetition.words(text), repeats):
            stopped = "loop"
            break
    return Translation(
        # The last piece may hold `end` and more text after it.
        text=one_line(shown),
        engine=engine,
        # A server without a token count sends about one token per piece.
        tokens=tokens or written,
        prompt_tokens=prompt_tokens,
        stopped=stopped,
    )
