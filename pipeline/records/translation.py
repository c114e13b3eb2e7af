"""The record of one utterance in an extra target language, beside the utterance's own. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from pipeline.core.types import Check
from pipeline.records.quality import Flag
from pipeline.records.utterance import FinalRecord, PartialRecord, UtteranceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRecord:
    """What the utterance's record says of the first target. What was heard stands there only."""

    type: Literal["translation"] = "translation"
    id: int
    """The utterance's."""
    utc: str
    target: str
    """The extra target language. `final.lang` is another where the source text stands in."""
    start_s: float
    end_s: float
    final: FinalRecord
    partial: PartialRecord | None = None
    updates: int
    """Number of texts shown in this language, the final included."""
    normalized_erasure: float | None = None
    revised: int | None = None
    agreement: float | None = None
    partial_ms: float | None = None
    final_busy_ms: float | None = None
    """Waiting for the final translator: for an earlier utterance, or for other languages."""
    final_ms: float | None = None
    last_syllable_to_partial_ms: float | None = None
    last_syllable_to_final_ms: float | None = None
    verse: str = ""
    checks: tuple[Check, ...] = ()
    doubt: float | None = None
    is_doubtful: bool = False
    held_ms: float | None = None
    flags: tuple[Flag, ...] = ()


def translation_record(record: UtteranceRecord, target: str) -> TranslationRecord | None:
    """Return what of an utterance's record is about its translation, None if it has none."""
    if record.final is None:
        return None
    shared = {name: getattr(record, name) for name in _SHARED}
    return TranslationRecord(target=target, final=record.final, **shared)


_SHARED = {field.name for field in fields(TranslationRecord)} - {"type", "target", "final"}
"""All else is the utterance's: a field that both have is copied, whoever adds it."""
