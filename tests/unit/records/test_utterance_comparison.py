"""The record of a second final."""

from __future__ import annotations

from dataclasses import asdict

import orjson

from pipeline.core.types import Comparison, Span, Translation
from pipeline.records.utterance import compare_record
from tests.support.schemas import problems

UTC = "2026-11-22T09:30:07.250+00:00"


def comparison(text: str, final: str = "La gracia de Dios.") -> Comparison:
    translation = Translation(text, "marian", tokens=5)
    return Comparison(7, "es", final, "opus-mt-en-es", translation, Span(100.0, 100.0413))


def test_the_whole_record() -> None:
    made = compare_record(comparison("la gracia de Dios"), utc=UTC)
    assert asdict(made) == {
        "type": "compare",
        "id": 7,
        "utc": UTC,
        "lang": "es",
        "text": "la gracia de Dios",
        "engine": "marian",
        "model": "opus-mt-en-es",
        "ms": 41.3,
        "stopped": "end",
        "agreement": 0.8508,
    }
    assert problems("records/compare", orjson.loads(orjson.dumps(made))) == []


def test_the_same_text_agrees_and_silence_does_not_say() -> None:
    assert compare_record(comparison("Amén.", "Amén."), utc=UTC).agreement == 1.0
    assert compare_record(comparison("", "Amén."), utc=UTC).agreement is None
