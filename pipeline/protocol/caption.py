"""The caption message: the same value for displays, journal and board. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pipeline.core.types import Verse

MAX_INT = 2**53 - 1
"""The largest whole number that JavaScript counts exactly."""

Count = Annotated[int, Field(ge=0, le=MAX_INT)]
Ordinal = Annotated[int, Field(ge=1, le=MAX_INT)]
Seconds = Annotated[float, Field(ge=-MAX_INT, le=MAX_INT)]
Lang = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text that was said."""

    lang: Lang
    text: str


@dataclass(frozen=True, slots=True)
class TargetText:
    """The text that is shown. `lang` is the source language if there is no translation."""

    lang: Lang
    text: str
    # Also "operator"; "source", the spoken words stand in; HEARD; "", the caption was taken away.
    engine: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionMessage:
    """A `caption` message: one version of one caption, as sent, journaled and restored."""

    type: Literal["caption"] = "caption"
    # Counts the versions of all captions: by it a display that was away says what it has.
    seq: Ordinal
    # Captions stand in the order of their ids; one that is typed takes the next id as well.
    id: Count
    # Counts the versions of this caption: an operator's command names the one that was seen.
    revision: Ordinal
    final: bool
    # Both are times of the session's sound, from its first sample, and not of the clock.
    start_s: Seconds
    end_s: Seconds
    source: SourceText
    target: TargetText
    # JavaScript counts UTF-16 units; pages have to convert.
    stable: Count
    """Leading code points of `target.text` that will most likely not change again."""
    status: Literal["", "resumed"] = ""
    """"resumed": it was final, and the speaker has gone on; until it is final again."""
    corrected: bool = False
    """An operator has written the source text; `target` was made from it, or soon will be."""
    verse: Verse | None = None
    """The printed verse that is shown for `target`, which stays the machine's translation."""
    doubtful: bool = False
    """It is probably wrong, and no operator has said otherwise: pages mark it."""
