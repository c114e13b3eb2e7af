from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.repetition import Loop, anywhere, at_end, compression_ratio, cut, longest


@pytest.mark.parametrize(
    ("items", "loop"),
    [
        ("", Loop()),
        ("a", Loop()),
        ("abcd", Loop()),
        ("xaay", Loop(1, 1, 2)),
        ("ababab", Loop(0, 2, 3)),
        ("xabcabca", Loop(1, 3, 2)),
        ("aabcbcbcd", Loop(2, 2, 3)),
        ("aaaa", Loop(0, 1, 4)),
    ],
)
def test_finds_the_longest_loop(items: str, loop: Loop) -> None:
    assert longest(items) == loop


def test_an_n_gram_beyond_the_longest_period_is_not_looked_for() -> None:
    assert longest("abcabc", max_period=2) == Loop()


@given(st.text("ab", max_size=40))
def test_the_items_of_a_loop_repeat(items: str) -> None:
    loop = longest(items)
    n_gram = items[loop.start : loop.start + loop.period]
    assert items[loop.start : loop.start + loop.length] == n_gram * loop.count


def test_a_runaway_loop_is_seen_as_soon_as_it_is_one() -> None:
    assert at_end("xyz" + "abc" * 3 + "ab", allowed=1) is None
    assert at_end("xyz" + "abc" * 4, allowed=1) == Loop(3, 3, 4)
    assert at_end("xyz" + "abc" * 4 + "a", allowed=1) == Loop(4, 3, 4)


def test_short_repeats_are_speech() -> None:
    """Numbers are spelled digit by digit, and people say "no, no, no, no"."""
    assert at_end("1" + "0" * 9, allowed=1) is None
    assert anywhere("1" + "0" * 9, allowed=1) is None
    assert anywhere("abcde" * 3, allowed=1) is None
    assert at_end("abcdefghijklmnopqrstuvwxyz", allowed=1) is None


def test_what_the_source_repeats_may_be_repeated() -> None:
    assert at_end("ab" * 8, allowed=7) is None
    assert at_end("ab" * 9, allowed=7) == Loop(0, 2, 9)


def test_cutting_keeps_some_rounds_and_what_follows() -> None:
    items = [9, *[1, 2, 3] * 5, 7, 8]
    loop = anywhere(items, allowed=1)
    assert loop == Loop(1, 3, 5)
    assert cut(items, loop, 1) == [9, 1, 2, 3, 7, 8]
    assert cut(items, loop, 2) == [9, 1, 2, 3, 1, 2, 3, 7, 8]


def test_cutting_drops_the_round_that_was_begun() -> None:
    items = [9, *[1, 2, 3] * 5, 1, 2]
    assert cut(items, longest(items), 1) == [9, 1, 2, 3]


def test_what_repeats_itself_compresses_well() -> None:
    assert compression_ratio("") == 0.0
    assert compression_ratio("Grace to you and peace.") < 1.0
    assert compression_ratio("amen " * 30) > 5.0
    assert compression_ratio("half a letter: \ud83d") > 0.0
