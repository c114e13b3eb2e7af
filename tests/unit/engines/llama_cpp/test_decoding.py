from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.engines.llama_cpp.decoding import Bias, Decoding, Draft, count_within, place_in
from pipeline.engines.llama_cpp.gemma import Gemma

TOKENS = st.lists(st.integers(0, 5), max_size=20)


def go(draft: str, made: str, most: int = 3) -> str:
    """Guess with words for tokens."""
    numbers = {word: n for n, word in enumerate(dict.fromkeys(f"{draft} {made}".split()))}
    words = {n: word for word, n in numbers.items()}
    tokens = [numbers[w] for w in draft.split()]
    place = place_in(tokens, [numbers[w] for w in made.split()])
    guessed = [] if place is None else tokens[place : place + most]
    return " ".join(words[n] for n in guessed)


@pytest.mark.parametrize(
    ("draft", "made", "most", "guessed"),
    [
        ("Dios es bueno siempre", "", 3, "Dios es bueno"),
        ("Dios es bueno siempre", "Dios es", 3, "bueno siempre"),
        ("Dios es bueno siempre", "Dios es fiel", 3, ""),
        # The draft resumes after a different word, an added word, and a missing word.
        ("Dios es bueno siempre y aquí", "Dios es fiel siempre", 3, "y aquí"),
        ("Dios es bueno siempre", "Dios es muy bueno", 3, "siempre"),
        ("Dios es muy bueno siempre", "Dios es bueno", 3, "siempre"),
        # The longer matching context wins, then the nearer place.
        ("en la paz a la luz", "a la", 1, "luz"),
        ("x de la casa y la de la luz", "y la de la", 1, "luz"),
        ("la paz y la luz y la fe", "la", 1, "paz"),
        ("la paz y la luz y la fe", "una paz con la", 1, "luz"),
        ("la paz y la luz y la fe", "una paz con una luz con la", 1, "fe"),
        ("", "Dios", 3, ""),
        ("Dios es", "Dios es", 3, ""),
    ],
)
def test_what_is_guessed_follows_what_was_made(
    draft: str, made: str, most: int, guessed: str
) -> None:
    assert go(draft, made, most) == guessed


@given(TOKENS, TOKENS)
def test_what_follows_stands_in_the_draft_behind_the_last_token(
    draft: list[int], made: list[int]
) -> None:
    place = place_in(draft, made)
    if place is not None:
        assert 0 <= place < len(draft)
        assert draft[max(place - 1, 0) : place] == (made[-1:] if place else [])


@given(TOKENS)
def test_a_draft_that_is_right_is_followed_to_its_end(draft: list[int]) -> None:
    for end in range(len(draft)):
        if len(set(draft)) == len(draft):
            assert place_in(draft, draft[:end]) == end


@pytest.mark.parametrize(
    ("bias", "drafted", "best", "keeps"),
    [
        (Bias(0.45, 0.2), 0.05, 0.80, True),  # .45 of bias outweighs up to .82 of probability
        (Bias(0.45, 0.2), 0.05, 0.90, False),
        (Bias(0.2, 0.0), 0.30, 0.50, True),  # .2 up to .25
        (Bias(0.2, 0.0), 0.30, 0.60, False),
        (Bias(), 0.39, 0.40, False),
        (Bias(), 0.40, 0.40, True),
    ],
)
def test_a_standing_token_goes_where_the_model_is_surer_by_a_margin(
    *, bias: Bias, drafted: float, best: float, keeps: bool
) -> None:
    draft = Draft([7], standing=1, bias=bias)
    assert draft.keeps(0, math.log(drafted), math.log(best)) is keeps


def test_the_tail_and_what_was_final_have_a_bias_of_their_own() -> None:
    draft = Draft([7, 8, 9], standing=2, was_final=1, bias=Bias(0.45, tail=0.2, final=0.5))
    assert draft.keeps(1, math.log(0.1), math.log(0.6))
    assert not draft.keeps(2, math.log(0.1), math.log(0.6))
    assert draft.keeps(0, math.log(1e-9), math.log(1.0)), "from .5 on it always stays"
    assert not draft.keeps(1, math.log(1e-9), math.log(1.0))
    assert not Bias()
    assert Bias(tail=0.1)


def test_a_token_of_no_probability_at_all_is_not_kept_for_a_sure_one() -> None:
    draft = Draft([7], standing=1, bias=Bias(0.45, 0.2))
    assert not draft.keeps(0, -math.inf, math.log(0.9))


def test_pieces_within_a_beginning_are_counted_whole() -> None:
    pieces = [b" Dios", b" am", "\u00f3".encode(), b" al"]
    assert count_within(pieces, " Dios am") == 2
    assert count_within(pieces, " Dios am\u00f3 a") == 3
    assert count_within(pieces, "") == 0


def test_a_branch_parts_where_a_token_of_the_draft_was_least_likely_and_ends(gemma: Gemma) -> None:
    prompt, _, cap = gemma._prompt("He leads me beside still waters.")
    model, end = gemma._llama, gemma._llama.tokenize("<end_of_turn>", special=True)
    decoding = Decoding(model, cap=cap, repeats=1, guesses=2, ends=gemma._ends, check=lambda: None)
    model.prompt(prompt, lambda: None)
    free = decoding.write(Draft(), lambda _: None)
    assert free.rival is None
    assert decoding.branch(prompt, free, end) is None

    kept = [*gemma._as_answer("El perro me lleva."), *end]
    model.prompt(prompt, lambda: None)
    first = decoding.write(Draft(kept, len(kept), bias=Bias(0.9999)), lambda _: None)
    assert (first.tokens, first.stopped) == (kept[: -len(end)], "end")
    assert first.rival is not None
    place = first.rival.place
    assert first.rival.gap > 2
    branch = decoding.branch(prompt, first, end)
    assert branch is not None
    assert branch.tokens[: place + 1] == [*kept[:place], first.rival.token]
    assert branch.logprobs[place] == pytest.approx(first.logprobs[place] + first.rival.gap)

    # Decoding from the branch's first tokens, without a draft, gives the rest of the branch.
    model.prompt([*prompt, *branch.tokens[: place + 1]], lambda: None)
    rest = decoding.write(Draft(), lambda _: None)
    assert rest.tokens == branch.tokens[place + 1 :]
    assert sum(rest.logprobs) == pytest.approx(sum(branch.logprobs[place + 1 :]), abs=0.05)
