"""The peer's policy: what is committed, and where its buffer is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scripts.bench.local_agreement import LocalAgreement, after


def test_what_two_recognitions_agree_on_is_committed() -> None:
    policy = LocalAgreement()
    policy.push(["ask", "not", "what"])
    assert policy.committed == []
    policy.push(["ask", "not", "that", "your"])
    assert policy.committed == ["ask", "not"]
    policy.push(["ask", "not", "that", "your", "country"])
    assert policy.committed == ["ask", "not", "that", "your"]


def test_the_end_commits_all() -> None:
    policy = LocalAgreement()
    policy.push(["amen"])
    policy.push(["Amen,", "brothers"], final=True)
    assert policy.committed == ["Amen,", "brothers"]


def test_a_committed_word_that_is_heard_otherwise_later_stays() -> None:
    policy = LocalAgreement()
    for _ in range(2):
        policy.push(["ask", "not", "what"])
    policy.push(["Esk", "not", "what", "you"])
    policy.push(["Ask,", "not", "what", "you", "can"])
    assert policy.committed == ["ask", "not", "what", "you"]


def test_a_committed_word_that_is_split_later_is_not_said_twice() -> None:
    assert after(["come", "home", "tonight"], ["come", "home", "to", "night", "my", "friend"]) == 4
    assert after([], ["a"]) == 0
    assert after(["a"], []) == 0


def test_a_buffer_is_cut_behind_a_sentence_that_more_is_committed_after() -> None:
    policy = LocalAgreement()
    policy.push(["He", "came", "home.", "He", "was"], final=True)
    assert policy.cut_place() == 3
    policy.cut(3)
    assert policy.in_buffer == ["He", "was"]
    assert policy.committed == ["He", "came", "home.", "He", "was"]
    policy.push(["He", "was", "glad."], final=True)
    assert policy.committed == ["He", "came", "home.", "He", "was", "glad."]
    assert policy.cut_place() == 0, "nothing is committed behind it"


@given(st.lists(st.lists(st.sampled_from("abc."), max_size=8), max_size=8))
def test_what_is_committed_only_grows(hypotheses: list[list[str]]) -> None:
    policy = LocalAgreement()
    committed: list[str] = []
    for words in hypotheses:
        policy.push(words)
        assert policy.committed[: len(committed)] == committed
        committed = policy.committed
        policy.cut(policy.cut_place())
        assert policy.committed == committed
