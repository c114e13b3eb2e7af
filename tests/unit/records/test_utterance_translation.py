"""The record of an utterance in an additional language."""

from __future__ import annotations

from dataclasses import fields

from pipeline.captions.redaction import Redaction, RedactionFilter
from pipeline.records.utterance import (
    TranslationRecord,
    filtered_record,
    translation_record,
    utterance_record,
)
from tests.support.coordinator import caption, transcript


def record() -> TranslationRecord:
    made = utterance_record(
        caption("gracia", final=True),
        draft=None,
        shown=["gracia"],
        published_s=2.0,
        first_shown_s=1.5,
        mode="live",
        utc="2026-11-22T09:30:00Z",
        queues={},
    )
    translated = translation_record(made, "fr")
    assert translated is not None
    shared = {each.name for each in fields(TranslationRecord)} - {"type", "target"}
    assert all(getattr(translated, name) == getattr(made, name) for name in shared)
    return translated


def test_it_has_of_the_utterances_record_what_is_about_the_translation() -> None:
    assert (record().type, record().target, record().final.text) == ("translation", "fr", "gracia")


def test_a_filtered_text_has_none() -> None:
    filtered = filtered_record(transcript(), mode="live", utc="2026-11-22T09:30:00Z")
    assert translation_record(filtered, "fr") is None


def test_it_goes_off_the_record_with_its_utterance() -> None:
    assert RedactionFilter(Redaction(0.0, 0.5)).takes(record())
    assert not RedactionFilter(Redaction(5.0, 6.0)).takes(record())
