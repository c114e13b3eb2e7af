from __future__ import annotations

import pytest

from pipeline.core.types import Translation
from pipeline.engines.output import Piece, WholeWords, join, read_answer


def shown(lang: str, *pieces: str | bytes) -> list[str]:
    seen: list[str] = []
    words = WholeWords(lang, seen.append)
    for piece in pieces:
        words.add(piece.encode() if isinstance(piece, str) else piece)
    return seen


def test_a_word_is_shown_when_the_next_begins_or_its_line_ends() -> None:
    assert shown("es", "Di", "os", " es", " bu", "eno", ".") == ["Dios", "Dios es"]
    assert shown("es", "Dios", "\n", "\n", "es", "  ", "bueno") == ["Dios", "Dios es"]
    assert shown("es", "", " ", b"") == []


def test_characters_are_never_cut() -> None:
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert shown("es", "qu", first, second, " ") == ["qué"]
    first, second = "神".encode()[:1], "神".encode()[1:]
    assert shown("ja", first, second, "は") == ["神", "神は"]


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
    assert join("gemma", []) == Translation("", "gemma")


END = "<end_of_turn>"


def read(*pieces: Piece, source: str = "Well done.", grown: list[str] | None = None) -> Translation:
    texts = [] if grown is None else grown
    return read_answer(
        pieces, engine="openai", source=source, target="es", end=END, grow=texts.append
    )


def test_it_grows_by_whole_words_and_ends_before_the_end() -> None:
    grown: list[str] = []
    pieces = (Piece(" Bien"), Piece(" he"), Piece("cho."), Piece(END + " more", "stop", 11, 3))
    made = read(*pieces, grown=grown)
    assert (made.text, made.stopped) == ("Bien hecho.", "end")
    assert (made.prompt_tokens, made.tokens) == (11, 3)
    assert grown == ["Bien"], "nothing of the end, nor of what follows it"


def test_pieces_are_counted_where_nobody_tells_also_of_one_that_runs_into_its_limit() -> None:
    made = read(Piece(" Bien"), Piece(" y", "length"))
    assert (made.tokens, made.stopped) == (2, "length")


def test_the_same_words_as_often_as_they_were_said_are_no_loop() -> None:
    said = "Holy, " * 6 + "holy."
    made = read(*(Piece(" santo,") for _ in range(6)), Piece(" santo.", "stop"), source=said)
    assert made.stopped == "end"
