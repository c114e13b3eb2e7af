from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.evaluation.reference import Sentence
from pipeline.tuning.workload import (
    Job,
    Timing,
    Work,
    figures_of,
    growing,
    hearing,
    interleaved,
    quick_translating,
    sermon,
    time_jobs,
    translating,
)
from tests.support.needs import needs_file

SENTENCE = Sentence(0, "s", 10.0, 12.0, "the Lord is my light and my salvation", "", ())


def test_a_sentence_grows_with_every_partial_and_ends_whole() -> None:
    assert growing(SENTENCE, 0.8) == [
        ("the Lord is", False),
        ("the Lord is my light and", False),
        (SENTENCE.source, True),
    ]
    assert growing(SENTENCE, 0.0) == [(SENTENCE.source, True)]
    assert growing(SENTENCE, 5.0) == [(SENTENCE.source, True)]


@given(st.lists(st.booleans(), max_size=40))
def test_a_fair_order_loses_nothing_and_takes_turns(finals: list[bool]) -> None:
    jobs = [Job(str, final=final) for final in finals]
    ordered = interleaved(jobs)
    assert sorted(map(id, ordered)) == sorted(map(id, jobs))
    both = min(finals.count(True), finals.count(False))
    assert [job.final for job in ordered[: 2 * both]] == [True, False] * both


@pytest.mark.parametrize("count", [8, 13, 64])
def test_every_beginning_is_spread_over_the_whole(count: int) -> None:
    jobs = [Job(str) for _ in range(count)]
    places = {id(job): place for place, job in enumerate(jobs)}
    ordered = [places[id(job)] for job in interleaved(jobs)]
    for length in (4, 8):
        share = sum(place < count / 2 for place in ordered[:length]) / length
        assert 0.25 <= share <= 0.75
    assert max(ordered[:4]) - min(ordered[:4]) >= count / 2


def test_the_quick_translator_gets_every_partial_and_the_final_one_the_finals() -> None:
    settings = Settings()
    quick, final = quick_translating(settings), translating()
    sentences = sermon()
    assert quick.count(final=True) == final.count(final=True) == len(sentences)
    assert final.count(final=False) == 0
    assert quick.speech_s == final.speech_s == sum(s.end_s - s.start_s for s in sentences)
    # One partial per 0.8 s of speech, minus those that fall after a sentence's end.
    assert 0.5 < quick.count(final=False) * 0.8 / quick.speech_s <= 1.0
    none = changed(settings, {"vad.partial_ms": 0})
    assert quick_translating(none).count(final=False) == 0


def test_each_draft_is_that_of_its_sentence() -> None:
    drafts = [f"draft of {sentence.source}" for sentence in sermon()]
    engine = MagicMock()
    for job in translating(drafts).jobs:
        job.do(engine)
    assert engine.translate.call_count == len(drafts)
    for call in engine.translate.call_args_list:
        text, request = call.args
        assert request.draft == f"draft of {text}"


@pytest.mark.slow
def test_the_recognizer_gets_the_sermon_as_the_daemon_cuts_it() -> None:
    needs_file(bundled("demo", "sermon.flac"), bundled("models", "silero"))
    work = hearing(Settings())
    sentences = sermon()
    assert work.count(final=True) >= 25
    assert work.count(final=False) >= 50
    assert sum(s.end_s - s.start_s for s in sentences) * 0.8 < work.speech_s < 137


class Naps:
    """Jobs that take given times, the last one if they are repeated more often."""

    def __init__(self, count: int, *seconds: float) -> None:
        self.jobs = [Job(partial(self._nap, n, seconds)) for n in range(count)]
        self.done: Counter[int] = Counter()

    def _nap(self, number: int, seconds: Sequence[float], _: object) -> None:
        time.sleep(seconds[min(self.done[number], len(seconds) - 1)])
        self.done[number] += 1


def test_jobs_are_done_again_while_there_is_time_and_the_least_counts() -> None:
    naps = Naps(3, 0.03, 0.001)
    timing = time_jobs(naps.jobs, "x", limit_s=10)
    assert set(naps.done.values()) == {5}
    assert len(timing.seconds) == 3
    assert all(0.001 <= took_s < 0.02 for took_s in timing.seconds)


def test_the_time_is_kept() -> None:
    naps = Naps(1000, 0.01)
    began_s = time.perf_counter()
    timing = time_jobs(naps.jobs, "x", limit_s=0.2)
    assert time.perf_counter() - began_s < 1.0
    assert 4 <= len(timing.seconds) <= 20
    assert naps.done.total() == len(timing.seconds), "no second round"


def test_some_are_done_however_long_they_take() -> None:
    assert len(time_jobs(Naps(9, 0.05).jobs, "x", limit_s=0.01).seconds) == 4


def test_patience_is_for_the_first_round() -> None:
    naps = Naps(10, 0.02)
    timing = time_jobs(naps.jobs, "x", limit_s=0.05, patience_s=5)
    assert len(timing.seconds) == 10
    assert set(naps.done.values()) == {1}


def test_a_second_of_speech() -> None:
    """Two of four finals and one of two partials were timed, for ten seconds of speech."""
    finals = [Job(str)] * 4
    partials = [Job(str, final=False)] * 2
    jobs = (finals[0], partials[0], finals[1], partials[1], *finals[2:])
    figures = figures_of(Work(jobs, 10.0), Timing((0.2, 0.1, 0.4), 1.5))
    assert figures.finals_busy == pytest.approx(4 * 0.3 / 10)
    assert figures.busy == pytest.approx((4 * 0.3 + 2 * 0.1) / 10)
    assert figures.cores == pytest.approx(1.5 * figures.busy)
    assert figures.slowest_s == 0.4
