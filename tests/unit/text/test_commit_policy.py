"""Which part of a recognized text is committed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.standing import Token
from pipeline.text.commit_policy import HALF, CommitPolicy, Policy

IDS: dict[str, int] = {}


def tokens(*texts: str) -> list[Token]:
    """Tokens with these texts; equal texts have equal ids."""
    until = 0
    made = []
    for text in texts:
        until += len(text)
        made.append(Token(IDS.setdefault(text, len(IDS)), text, until))
    return made


def text(made: Sequence[Token]) -> str:
    return "".join(token.text for token in made)


GOLD = tokens(" A", " gold", " ring", " will", " please")
ENDS = [1.0, 1.4, 1.8, 2.2, 2.6]


@pytest.mark.parametrize(
    ("behind_s", "heard", "ends_s", "audio_s", "committed"),
    [
        (0.5, GOLD, ENDS, 2.8, " A gold ring will"),
        (1.0, GOLD, ENDS, 2.9, " A gold ring"),
        (0.5, GOLD, ENDS, 9.0, " A gold ring will"),  # the last word never stands
        (0.5, tokens(" my", " shep", "herd", " and"), [1.0, 1.4, 1.8, 2.3], 2.0, " my"),
        (0.5, tokens(" good", ".", " The", " long"), [1.0, 1.3, 2.0, 2.4], 3.0, " good. The"),
        (0.5, tokens("神", HALF, HALF, "は", "愛"), [0.5, 1.0, 1.0, 3.0, 4.0], 2.0, "神"),
    ],
)
def test_whole_words_that_lie_long_enough_before_the_end_stand(
    behind_s: float, heard: list[Token], ends_s: list[float], audio_s: float, committed: str
) -> None:
    commit = CommitPolicy(behind_s=behind_s).push(heard, ends_s, audio_s)
    assert (text(commit.committed), commit.reason) == (committed, "")
    assert text(commit.tail) == text(heard)[len(committed) :]


def test_a_full_stop_at_the_end_is_a_guess_and_does_not_stand() -> None:
    policy = CommitPolicy()
    spoken = tokens(" God", " is", " good", ".")
    commit = policy.push(spoken, [0.5, 0.8, 1.2, 1.2], 5.0)
    assert text(commit.committed) == " God is"
    # It was no full stop; the committed prefix goes on.
    spoken = tokens(" God", " is", " good", " to", " us")
    commit = policy.push(spoken, [0.5, 0.8, 1.2, 5.0, 5.3], 6.0)
    assert text(commit.committed) == " God is good to"


def test_agreement_keeps_what_two_in_a_row_begin_with() -> None:
    policy = CommitPolicy("agreement")
    first = policy.push(tokens(" Esk", " not", " what"), [], 2.0)
    second = policy.push(tokens(" Ask", " not", " what"), [], 3.0)
    third = policy.push(tokens(" Ask", " not", " what", " your"), [], 4.0)
    assert [text(each.committed) for each in (first, second, third)] == ["", "", " Ask not what"]
    assert not third.reason, "it was asked for"


@pytest.mark.parametrize(
    ("ends_s", "audio_s", "why"),
    [
        ([], 9.0, "the recognizer tells no times"),
        (ENDS[1:], 9.0, "the recognizer tells no times"),
        ([1.0, 1.4, math.nan, 2.2, 2.6], 9.0, "a time is no number"),
        ([1.0, 1.4, math.inf, math.inf, math.inf], 9.0, "a time is no number"),
        (ENDS, math.nan, "a time is no number"),
        ([1.0, 1.4, 1.3, 2.2, 2.6], 9.0, "times go backwards"),
    ],
)
def test_useless_times_are_told_and_agreement_decides(
    ends_s: list[float], audio_s: float, why: str
) -> None:
    policy = CommitPolicy()
    first = policy.push(GOLD, ends_s, audio_s)
    assert (first.committed, first.tail, first.reason) == ((), tuple(GOLD), why)
    second = policy.push(GOLD, ends_s, audio_s)
    assert (text(second.committed), second.reason) == (" A gold ring will", why)


def test_a_text_that_does_not_begin_as_committed_takes_nothing_back() -> None:
    policy = CommitPolicy()
    policy.push(GOLD, ENDS, 2.8)
    commit = policy.push(tokens(" A", " bold", " thing"), [1.0, 1.4, 1.8], 3.6)
    assert text(commit.committed) == " A gold ring will"
    assert text(commit.tail) == " bold thing"
    assert "does not begin" in commit.reason
    again = policy.push(GOLD, ENDS, 3.6)
    assert text(again.committed) == " A gold ring will"


WORDS = st.lists(
    st.sampled_from([" the", " Lord", "ly", ".", ",", "神", "は", HALF, " ", ""]), max_size=12
)
SECONDS = st.one_of(st.floats(), st.floats(0, 10))
PUSHES = st.lists(
    st.tuples(WORDS, st.lists(SECONDS, max_size=12), SECONDS, st.booleans()), max_size=6
)


@pytest.mark.parametrize("name", ["alignatt", "agreement"])
@given(pushes=PUSHES)
def test_whatever_comes_nothing_that_stands_goes_and_nothing_is_lost(
    name: Policy, pushes: list[tuple[list[str], list[float], float, bool]]
) -> None:
    policy = CommitPolicy(name)
    before: tuple[Token, ...] = ()
    for texts, ends_s, audio_s, sorts in pushes:
        partial = tokens(*texts)
        commit = policy.push(partial, sorted(ends_s) if sorts else ends_s, audio_s)
        assert [t.id for t in commit.committed[: len(before)]] == [t.id for t in before]
        assert commit.tail == tuple(partial[len(partial) - len(commit.tail) :])
        head = partial[: len(partial) - len(commit.tail)]
        assert [t.id for t in commit.committed[: len(head)]] == [t.id for t in head]
        before = commit.committed


@given(WORDS, st.floats(0, 3), st.data())
def test_going_on_from_what_stands_only_adds_to_it(
    texts: list[str], step_s: float, data: st.DataObject
) -> None:
    """As in the recognizer: the committed prefix is forced, the rest is recognized again."""
    policy = CommitPolicy()
    audio_s = 0.0
    for _ in range(4):
        audio_s += step_s
        partial = [*policy.committed, *tokens(*data.draw(WORDS))]
        ends_s = [audio_s * (place + 1) / len(partial) for place in range(len(partial))]
        commit = policy.push(partial, ends_s, audio_s)
        assert (*commit.committed, *commit.tail) == tuple(partial)
        assert not commit.reason
        if commit.tail and len(commit.committed) > 0:
            assert len(commit.committed) < len(partial)


def test_what_the_recognizer_never_takes_back_stands_without_waiting() -> None:
    commit = CommitPolicy(behind_s=5.0).push(GOLD, ENDS, 2.8, unchanging=5)
    assert text(commit.committed) == " A gold ring will", "all but the last word"
