"""What a model writes, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.core.types import Translation
from pipeline.engines.answer import Piece, read_answer

END = "<end_of_turn>"


def read(*pieces: Piece, source: str = "Well done.", grown: list[str] | None = None) -> Translation:
    told = [] if grown is None else grown
    return read_answer(
        pieces, engine="openai", source=source, target="es", end=END, grow=told.append
    )


def test_it_grows_by_whole_words_and_ends_before_the_end() -> None:
    grown: list[str] = []
    pieces = (Piece(" Bien"), Piece(" he"), Piece("cho."), Piece(END + " more", "stop", 11, 3))
    made = read(*pieces, grown=grown)
    assert (made.text, made.stopped) == ("Bien hecho.", "end")
    assert (made.prompt_tokens, made.tokens) == (11, 3)
    assert grown[0] == "Bien"


def test_pieces_are_counted_where_nobody_tells() -> None:
    assert read(Piece(" Bien"), Piece(" hecho."), Piece("", "stop")).tokens == 2


def test_one_that_runs_into_its_limit() -> None:
    assert read(Piece(" Bien"), Piece(" y", "length")).stopped == "length"


def test_a_loop_is_left_and_not_read_to_its_end() -> None:
    left: list[int] = []

    def endless() -> Iterator[Piece]:
        for count in range(1000):
            left.append(count)
            yield Piece(" amén y")

    made = read_answer(
        endless(), engine="openai", source="Amen.", target="es", end=END, grow=lambda _: None
    )
    assert made.stopped == "loop"
    assert len(left) < 100


def test_the_same_words_as_often_as_they_were_said_are_no_loop() -> None:
    said = "Holy, " * 6 + "holy."
    made = read(*(Piece(" santo,") for _ in range(6)), Piece(" santo.", "stop"), source=said)
    assert made.stopped == "end"
