"""A Recognizer over a streaming engine: its input, its state and its output."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pipeline.core.errors import EngineError
from pipeline.core.types import Pcm, Recognition
from pipeline.engines.streaming.incremental import (
    Heard,
    IncrementalRecognizer,
    Piece,
    keep,
    piece_id,
)
from pipeline.text.commit_policy import CommitPolicy

SECOND = 10
"""Samples: this recognizer hears one number a second."""
NAMES = ("zero", "one", "two", "three", "four", "five")


def spoken(*numbers: int) -> Pcm:
    return np.repeat(np.array(numbers, np.float32), SECOND)


class Numbers(IncrementalRecognizer):
    """Recognizes one number a second; the newest lacks its last letter until it is over.

    With `changes` it revises its words: they become capitals.
    """

    name = "numbers"

    def __init__(self) -> None:
        super().__init__()
        self.told: list[int] = []
        self.resets = 0
        self.fails = False
        self.changes = False
        self.has_times = True
        self._spoken: list[float] = []

    def push(self, pcm: Pcm, *, is_last: bool = False) -> Heard:
        if self.fails:
            raise RuntimeError("no more")
        self.told.append(len(pcm))
        self._spoken.extend(pcm.tolist())
        words = [NAMES[int(number)] for number in self._spoken[::SECOND]]
        if self.changes:
            words = [word.upper() for word in words]
        if not is_last:
            words[-1] = words[-1][:-1]
        pieces = tuple(self._piece(index, f" {word}") for index, word in enumerate(words))
        over = len(pieces) if is_last else len(pieces) - 1
        return Heard() if self.changes and not pieces else Heard(pieces[:over], pieces[over:])

    def _piece(self, index: int, text: str) -> Piece:
        start_s = float(index) if self.has_times else None
        end_s = index + 1.0 if self.has_times else None
        return Piece(piece_id(text), text, start_s, end_s, probability=0.5)

    def reset(self) -> None:
        self.resets += 1
        self._spoken = []


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def recognize(numbers: Numbers) -> Callable[..., Recognition]:
    return numbers.recognize


Recognize = Callable[..., Recognition]


def test_of_an_utterance_that_grows_only_the_new_samples_are_heard(
    numbers: Numbers, recognize: Recognize
) -> None:
    assert recognize(spoken(1, 2), final=False).text == "one tw"
    assert recognize(spoken(1, 2, 3), final=False).text == "one two thre"
    assert recognize(spoken(1, 2, 3, 4), final=True).text == "one two three four"
    assert numbers.told == [2 * SECOND, SECOND, SECOND]
    assert numbers.resets == 0


def test_other_speech_is_heard_from_its_beginning(numbers: Numbers, recognize: Recognize) -> None:
    recognize(spoken(1, 2), final=False)
    assert recognize(spoken(3, 2, 1), final=False).text == "three two on"
    assert recognize(spoken(3, 2), final=True).text == "three two", "cut earlier than it was heard"
    assert recognize(spoken(3, 2, 5), final=False).text == "three two fiv", "speech has returned"
    assert numbers.told == [20, 30, 20, 30]
    assert numbers.resets == 3


def test_nothing_is_heard_in_no_samples(numbers: Numbers, recognize: Recognize) -> None:
    assert recognize(spoken(), final=True).text == ""
    assert numbers.told == []


def test_after_an_error_all_is_heard_again(numbers: Numbers, recognize: Recognize) -> None:
    recognize(spoken(1, 2), final=False)
    numbers.fails = True
    with pytest.raises(EngineError, match=r"numbers: no more\. \[stt-failed\]"):
        recognize(spoken(1, 2, 3), final=False)
    numbers.fails = False
    assert recognize(spoken(1, 2, 3), final=False).text == "one two thre"
    assert numbers.told == [20, 30]


def test_a_partial_says_what_a_commit_policy_asks_for(recognize: Recognize) -> None:
    heard = recognize(spoken(1, 2, 3), final=False)
    assert [token.text for token in heard.tokens] == [" one", " two", " thre"]
    assert [heard.text[: token.until] for token in heard.tokens] == ["one", "one two", heard.text]
    assert heard.ends_s == (1.0, 2.0, 3.0)
    assert heard.committed == 2
    commit = CommitPolicy("alignatt", behind_s=5.0).push(
        heard.tokens, heard.ends_s, 3.0, unchanging=heard.committed
    )
    assert [token.text for token in commit.committed] == [" one", " two"]


def test_a_final_tells_how_sure_it_is_of_each_word(recognize: Recognize) -> None:
    heard = recognize(spoken(1, 2), final=True)
    assert [(word.text, word.probability) for word in heard.words] == [("one", 0.5), ("two", 0.5)]
    assert heard.tokens == ()


@pytest.mark.parametrize("has_times", [True, False])
def test_what_stands_is_kept_when_the_recognizer_thinks_again(
    numbers: Numbers, recognize: Recognize, *, has_times: bool
) -> None:
    numbers.has_times = has_times
    before = recognize(spoken(1, 2, 3), final=False)
    standing = [token.id for token in before.tokens[:2]]
    numbers.changes = True
    heard = recognize(spoken(1, 2, 3, 4), final=False, prefix=standing)
    assert heard.text == "one two THREE FOU"
    assert heard.committed == 0, "what the recognizer is sure of is not what is shown"
    assert bool(heard.ends_s) == has_times
    assert recognize(spoken(1, 2, 3, 4), final=True).text == "ONE TWO THREE FOUR", "a final is free"


def test_a_beginning_that_nobody_has_told_is_not_kept(recognize: Recognize) -> None:
    heard = recognize(spoken(1, 2), final=False, prefix=[piece_id(" five")])
    assert heard.text == "one tw", "a new process has not heard the partial before"


def test_a_word_that_stands_and_is_heard_a_little_later_comes_once() -> None:
    standing = (Piece(1, " one", 0.0, 1.0),)
    again = (Piece(9, " won", 0.1, 1.2), Piece(2, " two", 1.2, 2.0))
    assert [piece.text for piece in keep(standing, again)] == [" one", " two"]
