from __future__ import annotations

import pytest

from pipeline.core.types import Translation
from pipeline.engines.output import WholeWords, join, one_line


def shown(lang: str, *pieces: str | bytes) -> list[str]:
    seen: list[str] = []
    words = WholeWords(lang, seen.append)
    for piece in pieces:
        words.add(piece.encode() if isinstance(piece, str) else piece)
    return seen


def test_a_word_is_shown_when_the_next_begins() -> None:
    assert shown("es", "Di", "os", " es", " bu", "eno", ".") == ["Dios", "Dios es"]


def test_a_new_line_ends_a_word_too() -> None:
    assert shown("es", "Dios", "\n", "\n", "es", "  ", "bueno") == ["Dios", "Dios es"]


def test_nothing_is_shown_of_nothing() -> None:
    assert shown("es", "", " ", b"") == []


def test_characters_are_never_cut() -> None:
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert shown("es", "qu", first, second, " ") == ["qué"]
    first, second = "神".encode()[:1], "神".encode()[1:]
    assert shown("ja", first, second, "は") == ["神", "神は"]


def test_one_line() -> None:
    assert one_line(" Dios\n\nes  bueno ") == "Dios es bueno"


def test_of_no_parts_the_whole_is_empty() -> None:
    assert join("gemma", []) == Translation("", "gemma")


def test_the_whole_is_the_sum_of_its_parts() -> None:
    whole = join(
        "gemma",
        [
            Translation("Gracia.", "gemma", 2, -0.1, prompt_tokens=10, reused_tokens=0),
            Translation("", "gemma", 0, None, prompt_tokens=10, reused_tokens=7, stopped="loop"),
            Translation("Y paz.", "gemma", 3, -0.6, prompt_tokens=9, reused_tokens=7),
        ],
    )
    assert whole == Translation(
        "Gracia. Y paz.", "gemma", 5, whole.avg_logprob, 29, 14, stopped="loop"
    )
    assert whole.avg_logprob == pytest.approx(-0.4)
