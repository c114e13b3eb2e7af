from __future__ import annotations

from pipeline.engines.whole_words import WholeWords, one_line


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
