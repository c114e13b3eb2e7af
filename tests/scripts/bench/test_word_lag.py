"""How late words are, compared with when they were spoken."""

from __future__ import annotations

import pytest

from scripts.bench.recordings import SpokenWord
from scripts.bench.sightings import StandingWord
from scripts.bench.word_lag import final_delays_s, word_lags_s
from tests.support.sightings import history

SPOKEN = [
    SpokenWord(text="Ask", start_s=1.0, end_s=1.5),
    SpokenWord(text="not,", start_s=1.5, end_s=2.0),
    SpokenWord(text="my", start_s=3.0, end_s=3.25),
    SpokenWord(text="friend.", start_s=3.25, end_s=4.0),
]


def shown(*words: tuple[str, float]) -> list[StandingWord]:
    return [StandingWord(text, at_s, place, len(words)) for place, (text, at_s) in enumerate(words)]


def test_each_word_is_late_from_its_own_end() -> None:
    read = shown(("Ask", 2.0), ("not", 2.5), ("my", 4.0), ("friend?", 4.5))
    assert word_lags_s(read, SPOKEN) == pytest.approx([0.5, 0.5, 0.75, 0.5])


def test_a_word_heard_as_another_or_not_at_all_has_no_lag() -> None:
    read = shown(("Esk", 2.0), ("not", 2.5), ("friend", 4.5))
    assert word_lags_s(read, SPOKEN) == pytest.approx([0.5, 0.5])


def test_nothing_heard_or_nothing_known_is_no_lag() -> None:
    assert word_lags_s([], SPOKEN) == []
    assert word_lags_s(shown(("Ask", 2.0)), []) == []


def test_a_final_is_late_from_the_true_end_of_its_last_word() -> None:
    cut = history((4.6, "Ask not, my friend.", 0, "gemma", True), end_s=4.1)
    assert final_delays_s([cut], SPOKEN) == pytest.approx([0.6])


def test_an_utterance_that_was_cut_within_speech_is_no_pause() -> None:
    cut = history((4.6, "Ask not, my", 0, "gemma", True), end_s=3.3)
    assert final_delays_s([cut], SPOKEN) == []
