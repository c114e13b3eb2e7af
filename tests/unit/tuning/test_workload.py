from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.core.resources import bundled
from pipeline.evaluation.reference import Sentence
from pipeline.tuning.workload import (
    Hearing,
    Translating,
    growing,
    hearing,
    interleaved,
    quick_translating,
    sermon,
    translating,
)
from tests.support.fakes import FakeTranslator
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
    jobs = [Translating(str(n), final=final) for n, final in enumerate(finals)]
    ordered = interleaved(jobs)
    assert sorted(ordered, key=lambda job: int(job.text)) == jobs
    both = min(finals.count(True), finals.count(False))
    assert [job.final for job in ordered[: 2 * both]] == [True, False] * both


@pytest.mark.parametrize("count", [8, 13, 64])
def test_every_beginning_is_spread_over_the_whole(count: int) -> None:
    ordered = [int(job.text) for job in interleaved([Translating(str(n)) for n in range(count)])]
    for length in (4, 8):
        share = sum(place < count / 2 for place in ordered[:length]) / length
        assert 0.25 <= share <= 0.75
    assert max(ordered[:4]) - min(ordered[:4]) >= count / 2


def test_the_quick_translator_gets_every_partial_and_the_final_one_the_finals() -> None:
    settings = Settings()
    quick, final = quick_translating(settings), translating()
    told = sermon()
    assert quick.count(final=True) == final.count(final=True) == len(told)
    assert final.count(final=False) == 0
    assert quick.speech_s == final.speech_s == sum(s.end_s - s.start_s for s in told)
    # A partial every 0.8 s of speech, less those that fall behind a sentence's end.
    assert 0.5 < quick.count(final=False) * 0.8 / quick.speech_s <= 1.0
    none = changed(settings, {"vad.partial_ms": 0})
    assert quick_translating(none).count(final=False) == 0


def test_each_draft_is_that_of_its_sentence() -> None:
    drafts = [f"draft of {sentence.source}" for sentence in sermon()]
    for job in translating(drafts).jobs:
        assert isinstance(job, Translating)
        assert job.draft == f"draft of {job.text}"
    assert Translating("amen").do(FakeTranslator("es")) == "amen-es"


@pytest.mark.slow
def test_the_recognizer_gets_the_sermon_as_the_daemon_cuts_it() -> None:
    needs_file(bundled("demo", "sermon.flac"), bundled("models", "silero"))
    work = hearing(Settings())
    told = sermon()
    heard = [job for job in work.jobs if isinstance(job, Hearing)]
    assert work.count(final=True) >= 25
    assert work.count(final=False) >= 50
    spoken = [sentence for job in heard for sentence in job.spoken]
    assert len(spoken) == len(set(spoken)), "no sentence is expected twice"
    assert len(spoken) >= len(told) - 2
    assert all(job.final for job in heard if job.spoken)
    assert sum(s.end_s - s.start_s for s in told) * 0.8 < work.speech_s < 137
    german = hearing(changed(Settings(), {"translate.source": "de"}))
    assert not any(job.spoken for job in german.jobs if isinstance(job, Hearing))
    assert len(german.jobs) == len(work.jobs)
