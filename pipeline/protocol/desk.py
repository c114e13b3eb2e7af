"""What operators alone are told, to decide or correct it: doubtful finals, notes of the sermon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.protocol.caption import SourceText, TargetText


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulMessage:
    """A doubtful final that is kept off the screens for a moment; to operators."""

    type: Literal["doubtful"] = "doubtful"
    id: int
    source: SourceText
    target: TargetText
    left_s: float
    """Seconds until it is shown, with a mark; 0: it is kept back no longer."""
    revision: int = 0
    """The caption's, once it is shown: commands about it carry this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesMessage:
    """What is known beforehand from the notes of the sermon; to operators, who correct it."""

    type: Literal["notes"] = "notes"
    names: tuple[str, ...] = ()
    verses: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """How words are translated: "covenant = pacto"."""
