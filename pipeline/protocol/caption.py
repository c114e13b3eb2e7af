"""The caption message, the same for displays, journal and board. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pipeline.core.types import Verse

MAX_INT = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""

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
    # Or "operator"; "source": the source text replaces the translation; HEARD; "": it was removed.
    engine: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionMessage:
    """A `caption` message: one version of one caption, as sent, journaled and restored."""

    type: Literal["caption"] = "caption"
    # Counts the versions of all captions: a display that reconnects sends it to say what it has.
    seq: Ordinal
    # Captions are shown in the order of their ids; a typed caption also takes the next id.
    id: Count
    # Counts the versions of this caption: an operator's command names the one that was seen.
    revision: Ordinal
    final: bool
    # Both are positions in the session's audio, from its first sample, not clock times.
    start_s: Seconds
    end_s: Seconds
    source: SourceText
    target: TargetText
    # JavaScript counts UTF-16 units, so pages must convert.
    stable: Count
    """Length of the committed prefix of `target.text`, code points; it will hardly change again."""
    status: Literal["", "resumed"] = ""
    """"resumed": it was final, but the speaker continued; until it is final again."""
    corrected: bool = False
    """An operator has written the source text; `target` was made from it, or soon will be."""
    verse: Verse | None = None
    """The printed verse that is shown for `target`, which stays the machine's translation."""
    doubtful: bool = False
    """It is probably wrong, and no operator has said otherwise: pages mark it."""
