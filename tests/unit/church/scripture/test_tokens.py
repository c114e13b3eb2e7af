"""Words and digits with their places."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.scripture.tokens import Tokens
from pipeline.text.words import plain


def test_accents_and_capitals_do_not_count_but_a_tilde_does() -> None:
    assert [plain(word) for word in ("Filemón", "AÑOS", "d’Arc", "º")] == [
        "filemon",
        "años",
        "d'arc",
        "º",
    ]


def test_thousands_are_one_token_and_a_verse_is_not() -> None:
    assert Tokens("1,000 and 1.000.000, but 3:16 and 8,28").words == (
        *("1000", "and", "1000000", "but", "3", "16", "and", "8", "28"),
    )


def test_a_french_article_is_a_word_of_its_own() -> None:
    words = Tokens("dans l’Apocalypse, d'Exode; o'clock, don't").words
    assert words == ("dans", "l'", "apocalypse", "d'", "exode", "o'clock", "don't")


def test_only_space_or_a_hyphen_joins() -> None:
    tokens = Tokens("twenty-three, four five")
    assert [tokens.is_joined(at) for at in range(len(tokens))] == [True, False, True, False]
    assert (tokens.word(9), tokens.word(-1)) == ("", "")
    assert tokens.piece(0, 2) == "twenty-three"


@settings(deadline=None)
@given(st.text())
def test_gaps_and_tokens_make_up_the_text(text: str) -> None:
    tokens = Tokens(text)
    before = text[: tokens.spans[0][0]] if len(tokens) else text
    parts = [tokens.piece(at, at + 1) + tokens.gap(at) for at in range(len(tokens))]
    assert before + "".join(parts) == text
