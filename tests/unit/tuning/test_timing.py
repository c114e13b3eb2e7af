from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest

from pipeline.core.types import Utterance
from pipeline.evaluation.reference import Sentence
from pipeline.tuning.timing import Timing, figures_of, time_jobs
from pipeline.tuning.workload import Hearing, Job, Translating, Work


@dataclass
class Nap:
    """A job that takes its time, less when it is done again."""

    seconds: list[float]
    final: bool = True
    done: int = 0

    def do(self, engine: object) -> str:
        time.sleep(self.seconds[min(self.done, len(self.seconds) - 1)])
        self.done += 1
        return f"{engine} {self.done}"


def naps(count: int, *seconds: float) -> list[Nap]:
    return [Nap(list(seconds)) for _ in range(count)]


def test_jobs_are_done_again_while_there_is_time_and_the_least_counts() -> None:
    jobs = naps(3, 0.03, 0.001)
    timing = time_jobs(jobs, "x", limit_s=10)
    assert {job.done for job in jobs} == {5}
    assert len(timing.seconds) == 3
    assert all(0.001 <= took_s < 0.02 for took_s in timing.seconds)
    assert timing.texts == ("x 1",) * 3


def test_the_time_is_kept() -> None:
    jobs = naps(1000, 0.01)
    began_s = time.perf_counter()
    timing = time_jobs(jobs, "x", limit_s=0.2)
    assert time.perf_counter() - began_s < 1.0
    assert 4 <= len(timing.seconds) <= 20
    assert sum(job.done for job in jobs) == len(timing.seconds), "no second round"


def test_some_are_done_however_long_they_take() -> None:
    assert len(time_jobs(naps(9, 0.05), "x", limit_s=0.01).seconds) == 4


def test_patience_is_for_the_first_round() -> None:
    jobs = naps(10, 0.02)
    timing = time_jobs(jobs, "x", limit_s=0.05, patience_s=5)
    assert len(timing.seconds) == 10
    assert {job.done for job in jobs} == {1}


def test_an_idle_job_takes_no_core() -> None:
    assert time_jobs(naps(4, 0.05), "x", limit_s=0.1).cores < 0.5


def test_a_second_of_speech() -> None:
    """Two of four finals and one of two partials were done, for ten seconds of speech."""
    finals = [Translating("f")] * 4
    partials = [Translating("p", final=False)] * 2
    jobs: tuple[Job, ...] = (finals[0], partials[0], finals[1], partials[1], *finals[2:])
    figures = figures_of(Work(jobs, 10.0), Timing((0.2, 0.1, 0.4), ("a", "b", "c"), 1.5))
    assert figures.finals_busy == pytest.approx(4 * 0.3 / 10)
    assert figures.busy == pytest.approx((4 * 0.3 + 2 * 0.1) / 10)
    assert figures.cores == pytest.approx(1.5 * figures.busy)
    assert figures.slowest_s == 0.4
    assert (figures.word_error_rate, figures.words) == (None, 0)


def test_words_heard_wrong_are_those_of_the_finals_that_were_done() -> None:
    def heard(text: str, *, final: bool = True) -> Hearing:
        utterance = Utterance(1, 1, final, "silence", 0, 1, np.zeros(1, np.float32))
        told = Sentence(0, "s", 0, 1, text, "", ())
        return Hearing(utterance, (told,) if final else ())

    jobs = (heard("grace and peace"), heard("x", final=False), heard("to you all"), heard("amen"))
    timing = Timing((0.1, 0.1, 0.1), ("Grace, and peas.", "junk", "to you all"), 1.0)
    figures = figures_of(Work(jobs, 3.0), timing)
    assert figures.words == 6
    assert figures.word_error_rate == pytest.approx(1 / 6, abs=1e-4)
