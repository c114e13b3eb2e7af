"""The record of a second final, made to be compared with the first. Pure.

It is a record of its own because the utterance's is written as soon as its final is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.core.types import Comparison
from pipeline.records.quality import agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRecord:
    """A second final for an utterance; only operators see it."""

    type: Literal["compare"] = "compare"
    id: int
    """The utterance."""
    utc: str
    """When it was made, after the utterance's own record."""
    lang: str
    text: str
    engine: str
    model: str
    """As in the settings, without the folder."""
    ms: float
    """Time of the engine, milliseconds."""
    stopped: Literal["end", "length", "loop"]
    """Why it ended: by itself, at the token cap, at the repetition guard."""
    agreement: float | None
    """chrF against the final that was shown, 0..1; None if it says nothing."""


def compare_record(comparison: Comparison, *, utc: str) -> CompareRecord:
    """Return the record of a comparison."""
    translation = comparison.translation
    return CompareRecord(
        id=comparison.id,
        utc=utc,
        lang=comparison.lang,
        text=translation.text,
        engine=translation.engine,
        model=comparison.model,
        ms=round(comparison.span.ms, 1),
        stopped=translation.stopped,
        agreement=agreement(translation.text, comparison.final),
    )
