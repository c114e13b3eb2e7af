"""Which part of a translation is committed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.standing import TargetPart
from pipeline.text.commit_policy import TargetCommit, follows, regrouped

MARK = "\u2581"


def part(
    text: str, looked_at: Sequence[int] = (), settled: int = 0, *, whole: bool = False
) -> TargetPart:
    """A part with one piece per word; "|" cuts a word in two."""
    pieces = [
        (MARK if at == 0 else "") + piece
        for word in text.split()
        for at, piece in enumerate(word.split("|"))
    ]
    sizes = (len(p) if n else len(p) - 1 for n, p in enumerate(pieces))
    return TargetPart(tuple(pieces), tuple(accumulate(sizes)), tuple(looked_at), settled, whole)


def text_of(parts: list[TargetPart]) -> str:
    return " ".join("".join(p.pieces).replace(MARK, " ").strip() for p in parts if p.pieces)


@pytest.mark.parametrize(
    ("text", "looked_at", "settled", "committed"),
    [
        ("Y el Señor dijo a Moisés", [0, 1, 2, 3, 5, 5], 4, "Y el Señor dijo"),
        # A word that was made of what may change holds back what follows.
        ("Y el Señor dijo a Moisés", [0, 4, 2, 3, 3, 5], 4, "Y"),
        ("mis compa|ñe|ros oyen a Dios", [0, 1, 2, 4, 4, 5, 6], 3, "mis"),
        # The last word and its full stop do not stand before all was said.
        ("Dios es muy bueno con todos|.", [0, 1, 2, 3, 4, 5, 5], 6, "Dios es muy bueno con"),
    ],
)
def test_whole_words_made_of_committed_words_stand(
    text: str, looked_at: list[int], settled: int, committed: str
) -> None:
    assert TargetCommit().push([part(text, looked_at, settled)]) == len(committed)


def test_a_sentence_of_which_all_was_said_stands_as_a_whole() -> None:
    policy = TargetCommit()
    first, second = part("Dios es bueno|.", [0, 1, 2, 3], 4, whole=True), part("Él nos", [0, 1], 0)
    assert policy.push([first, second]) == len("Dios es bueno.")
    assert policy.closed == 1
    assert policy.committed[0] == first.pieces


def test_what_stood_stays_though_attention_moves() -> None:
    policy = TargetCommit()
    policy.push([part("Y el Señor dijo a Moisés", [0, 1, 2, 3, 4, 5], settled=4)])
    later = part("Y el Señor dijo a todos los suyos", [5, 5, 5, 5, 6, 6, 7, 7], settled=4)
    assert policy.push([later]) == len("Y el Señor dijo")


def test_useless_attention_is_found_out_and_agreement_decides() -> None:
    policy = TargetCommit()
    looks_at_the_end = [9] * 6
    assert policy.push([part("Y el Señor dijo a Moisés", looks_at_the_end, settled=4)]) == 0
    assert not policy.attention_follows
    again = part("Y el Señor dijo a todos ellos", [*looks_at_the_end, 9], settled=4)
    assert policy.push([again]) == len("Y el Señor dijo a")
    short = part("Y el Señor dijo", [1, 2, 3, 4], settled=4)
    assert TargetCommit().push([short]) == len("Y el Señor")
    assert TargetCommit(attention_follows=False).push([short]) == 0


def test_without_attention_agreement_decides() -> None:
    policy = TargetCommit()
    assert policy.push([part("El Señor es")]) == 0
    assert policy.push([part("El Señor era mi pastor")]) == len("El Señor")


def test_a_translator_that_does_not_go_on_from_what_stands_takes_no_word_back() -> None:
    policy = TargetCommit()
    policy.push([part("Y el Señor dijo a Moisés", [0, 1, 2, 3, 4, 5], settled=4)])
    before = policy.committed
    other = part("Y entonces habló", [0, 1, 2], settled=1)
    assert policy.push([other]) == len("Y")
    assert policy.committed == before


def test_two_sentences_that_turn_out_to_be_one_keep_their_words() -> None:
    policy = TargetCommit()
    policy.push([part("Dios|.", [0, 1], 2, whole=True), part("Es bueno con nosotros", settled=0)])
    forced = regrouped(policy.committed, 1)
    assert forced == ((f"{MARK}Dios", "."),)
    assert policy.push([part("Dios|. es bueno", [0, 1, 2, 3], 1)]) == len("Dios.")


def test_nothing_comes_between_words_that_stand() -> None:
    policy = TargetCommit()
    policy.push([part("", [], whole=True), part("la paz", [0, 1], whole=True)])
    assert policy.push([part("Sea", [0], whole=True), part("", [])]) == 0
    assert policy.committed == ((), (f"{MARK}la", f"{MARK}paz"))


@pytest.mark.parametrize(
    ("looked_at", "expected"),
    [
        ([3, 3, 2, 3, 5, 5, 7, 7, 6, 7, 13, 14], True),  # of the starter model, on a sentence
        ([0, 1, 2, 3, 4, 5], True),
        ([4, 4, 4, 4, 4, 4], False),
        ([5, 0, 4, 1, 3, 0], False),
        ([7], False),
    ],
)
def test_whether_attention_follows(*, looked_at: list[int], expected: bool) -> None:
    assert follows(looked_at) is expected


PIECES = st.lists(
    st.sampled_from([f"{MARK}la", f"{MARK}paz", "es", ".", "<0xE3>", "神"]), max_size=8
)


@st.composite
def parts(draw: st.DrawFn) -> TargetPart:
    pieces = tuple(draw(PIECES))
    size = len(pieces)
    looked_at = tuple(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    return TargetPart(
        pieces,
        tuple(accumulate(map(len, pieces))),
        looked_at if draw(st.booleans()) else (),
        draw(st.integers(0, 9)),
        draw(st.booleans()),
    )


@given(st.lists(st.lists(parts(), max_size=3), max_size=5))
def test_whatever_comes_committed_pieces_stay(pushes: list[list[TargetPart]]) -> None:
    policy = TargetCommit()
    before: list[str] = []
    for pushed in pushes:
        shown = policy.push(pushed)
        now = [piece for pieces in policy.committed for piece in pieces]
        assert now[: len(before)] == before
        assert (
            0 <= shown <= sum(map(len, (p for each in pushed for p in each.pieces))) + len(pushed)
        )
        before = now


@given(st.lists(st.tuples(PIECES, st.integers(0, 8)), max_size=6))
def test_a_sentence_that_goes_on_from_what_stands_only_grows(
    heard: list[tuple[list[str], int]],
) -> None:
    policy = TargetCommit()
    shown = ""
    for more, settled in heard:
        pieces = [*(p for each in policy.committed for p in each), *more]
        until = tuple(accumulate(map(len, pieces)))
        made = TargetPart(tuple(pieces), until, tuple(range(len(pieces))), settled, is_whole=False)
        text = "".join(pieces)[: policy.push([made])]
        assert text.startswith(shown)
        shown = text
