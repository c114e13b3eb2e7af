"""Pairs as lines: keys named by language, and read back unchanged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.core.errors import LearningError
from pipeline.core.languages import LANGUAGES
from pipeline.learning.data.pairs import (
    LearningPair,
    pair_line,
    parse_line,
    read_pairs,
    write_pairs,
)

PAIR = LearningPair(
    session_id="2026-11-22T09-30-00",
    id=7,
    timestamp="2026-11-22T09:30:07.250+00:00",
    source_lang="en",
    text="The grace of God.",
    heard="the grace of gods",
    target_lang="es",
    translation="La gracia de Dios.",
    source="review",
    status="accepted",
    quality_score=0.91,
    stt_confidence=0.9,
    translation_qe=0.95,
    marian_agreement=0.8,
    flags=("agreement:flag",),
    model="gemma.gguf",
    model_sha256="ab" * 32,
)


def test_a_line_has_the_names_that_other_programs_look_for() -> None:
    line = orjson.loads(pair_line(PAIR))
    assert (line["en"], line["es"]) == ("The grace of God.", "La gracia de Dios.")
    keys = ("source", "session_id", "quality_score", "timestamp")
    assert [line[name] for name in keys] == ["review", PAIR.session_id, 0.91, PAIR.timestamp]
    assert [line[name] for name in ("stt_confidence", "translation_qe", "marian_agreement")] == [
        *(0.9, 0.95, 0.8)
    ]
    assert "text" not in line


def test_a_file_that_is_not_ours_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    assert read_pairs(path) == []
    write_pairs(path, [PAIR])
    assert read_pairs(path) == [PAIR]
    path.write_bytes(path.read_bytes() + b'{"en": "one"}\n')
    with pytest.raises(LearningError, match=r"pairs\.jsonl, line 2") as raised:
        read_pairs(path)
    assert raised.value.code == "pairs-unreadable"


def test_the_same_words_are_the_same_pair() -> None:
    shouted = parse_line(pair_line(PAIR).replace(b"The grace of God.", b"the GRACE of God"))
    assert shouted.key == PAIR.key


def test_every_language_has_its_text_in_the_line() -> None:
    """Indonesian texts once had the key of the utterance's number, and no file could be read."""
    for code in LANGUAGES:
        other = "en" if code != "en" else "es"
        for source, target in ((code, other), (other, code)):
            pair = replace(PAIR, source_lang=source, target_lang=target)
            assert parse_line(pair_line(pair)) == pair, code
            assert orjson.loads(pair_line(pair))[target] == PAIR.translation
