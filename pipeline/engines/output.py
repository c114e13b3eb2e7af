"""Assemble a translator's output: text that comes in pieces, parts that make a whole. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from pipeline.core.languages import language
from pipeline.core.types import Translation


class WholeWords:
    """Collects the bytes that a model makes and calls `grow` with the text so far.

    Only with whole words, since the last one may go on; in a language without spaces with whole
    characters.
    """

    def __init__(self, lang: str, grow: Callable[[str], None]) -> None:
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
        if whole != self._shown:
            self._shown = whole
            self._grow(whole)


def one_line(text: str) -> str:
    """Return `text` with single spaces for all white space: a caption is one line."""
    return " ".join(text.split())


def growing(
    on_text: Callable[[str], None] | None, parts: Sequence[Translation]
) -> Callable[[str], None]:
    """Return what is told of a part as it grows, and tells `on_text` of all so far.

    `parts` are those before it; the caller adds each when it is done.
    """

    def grow(part: str) -> None:
        if on_text is not None:
            on_text(" ".join([*(before.text for before in parts), part]))

    return grow


def join(engine: str, parts: Sequence[Translation]) -> Translation:
    """Return the whole: texts joined by spaces, counts summed, confidence weighted by tokens.

    `stopped` is that of the first part that was cut off, else "end".
    """
    tokens = sum(part.tokens for part in parts)
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
        alternatives=parts[0].alternatives if len(parts) == 1 else (),
        stopped=next((part.stopped for part in parts if part.stopped != "end"), "end"),
    )
