"""The values of a commit policy: tokens, pieces and the committed prefix of a caption. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """A token that a recognizer made."""

    id: int
    """In its own vocabulary."""
    text: str
    """Its text alone, with the space before it; U+FFFD where it is a part of a character."""
    until: int
    """So many characters the recognized text has up to this token, itself included."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What of a caption stands on screen: what its next translation is asked to keep."""

    source: int = 0
    """Leading characters of the source text that are committed."""
    target: int = 0
    """Leading characters of the draft that are committed."""
    pieces: tuple[tuple[str, ...], ...] = ()
    """The target pieces that are committed, of each part as the translator cut the text."""
    closed: int = 0
    """Leading parts that are over: their pieces are all there is to say."""
    was_final: int = 0
    """Of the draft's characters that are committed, those that a final had."""


@dataclass(frozen=True, slots=True)
class Reopened:
    """A final that was on screen when speech returned to its utterance."""

    id: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TargetPart:
    """What was made of one part of a text (a sentence), and what was looked at for it."""

    pieces: tuple[str, ...]
    """Target subwords; one that begins a word has U+2581 before it."""
    until: tuple[int, ...]
    """So many characters the part's text has up to each piece, itself included."""
    looked_at: tuple[int, ...]
    """The source piece that each was made of above all; empty where the model does not tell."""
    settled: int
    """Leading source pieces whose words are committed."""
    is_whole: bool
    """Whether all of the part's source is committed."""
