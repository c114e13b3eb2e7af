"""Find where words begin among subwords, in scripts with spaces and without. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pipeline.text.words import is_unspaced

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
