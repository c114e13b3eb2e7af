"""Text that comes in pieces, shown word by word. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Callable

_UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "zh"})
"""Languages written without spaces between words."""


class WholeWords:
    """Collects the bytes that a model makes and calls `grow` with the text so far.

    Only with whole words, since the last one may go on; in a language without spaces with whole
    characters.
    """

    def __init__(self, lang: str, grow: Callable[[str], None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._spaced = lang not in _UNSPACED
        self._grow = grow
        self._text = ""
        self._shown = ""

    def add(self, piece: bytes) -> None:
        """Take the next bytes, which may end within a character."""
        self._text += self._decoder.decode(piece)
        whole = self._text
        if self._spaced:
            whole = whole[: max(whole.rfind(" "), whole.rfind("\n"), 0)]
        whole = one_line(whole)
        if whole != self._shown:
            self._shown = whole
            self._grow(whole)


def one_line(text: str) -> str:
    """Return `text` with single spaces for all white space: a caption is one line."""
    return " ".join(text.split())
