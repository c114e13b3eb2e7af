from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.engines.speculative import guess

TOKENS = st.lists(st.integers(0, 5), max_size=20)


def go(draft: str, made: str, most: int = 3) -> str:
    """Guess with words for tokens."""
    numbers = {word: n for n, word in enumerate(dict.fromkeys(f"{draft} {made}".split()))}
    words = {n: word for word, n in numbers.items()}
    guessed = guess([numbers[w] for w in draft.split()], [numbers[w] for w in made.split()], most)
    return " ".join(words[n] for n in guessed)


def test_the_draft_from_its_beginning() -> None:
    assert go("Dios es bueno siempre", "") == "Dios es bueno"


def test_what_follows_what_was_made() -> None:
    assert go("Dios es bueno siempre", "Dios es") == "bueno siempre"


def test_nothing_where_the_two_part() -> None:
    assert go("Dios es bueno siempre", "Dios es fiel") == ""


def test_the_draft_again_behind_another_word() -> None:
    assert go("Dios es bueno siempre y aquí", "Dios es fiel siempre") == "y aquí"


def test_the_draft_again_behind_a_word_more_and_one_less() -> None:
    assert go("Dios es bueno siempre", "Dios es muy bueno") == "siempre"
    assert go("Dios es muy bueno siempre", "Dios es bueno") == "siempre"


def test_the_longer_beginning_wins() -> None:
    assert go("en la paz a la luz", "a la", 1) == "luz"
    assert go("x de la casa y la de la luz", "y la de la", 1) == "luz"


def test_the_nearer_place_wins() -> None:
    draft = "la paz y la luz y la fe"
    assert go(draft, "la", 1) == "paz"
    assert go(draft, "una paz con la", 1) == "luz"
    assert go(draft, "una paz con una luz con la", 1) == "fe"


def test_nothing_from_nothing() -> None:
    assert go("", "Dios") == ""
    assert go("", "") == ""
    assert go("Dios es", "Dios es") == "", "the draft is at its end"
    assert go("Dios es", "Dios", 0) == ""


@given(TOKENS, TOKENS, st.integers(0, 6))
def test_a_guess_is_a_piece_of_the_draft_behind_the_last_token(
    draft: list[int], made: list[int], most: int
) -> None:
    guessed = list(guess(draft, made, most))
    assert len(guessed) <= most
    if guessed:
        piece = made[-1:] + guessed
        starts = range(len(draft) - len(piece) + 1)
        assert any(draft[start : start + len(piece)] == piece for start in starts)


@given(TOKENS, st.integers(1, 6))
def test_a_draft_that_is_right_is_followed_to_its_end(draft: list[int], most: int) -> None:
    for end in range(len(draft)):
        if len(set(draft)) == len(draft):
            assert list(guess(draft, draft[:end], most)) == draft[end : end + most]
