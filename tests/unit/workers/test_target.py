"""The threads of one further language: fed beside the first, late on their own, resting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.core.reports import Fault, Rendition, Report, Retranslated, WorkerEnded
from pipeline.core.types import Caption, Recognition, Transcript, Utterance
from pipeline.engines.protocols import TargetEngines, Translator
from pipeline.workers.degradation import Rung
from pipeline.workers.target import TargetWorkers
from tests.support.fakes import FakeTranslator
from tests.support.patience import wait_for

TEXT = "the lord is good"


def transcript(
    id: int = 1,  # noqa: A002
    text: str = TEXT,
    *,
    final: bool = True,
    closed_s: float = 0.0,
) -> Transcript:
    pcm = np.zeros(16_000, np.float32)
    utterance = Utterance(
        id, 1, final, "silence" if final else "partial", 0, 16_000, pcm, closed_s=closed_s
    )
    return Transcript(utterance, "en", text, text, Recognition(text))


class Bench:
    """The workers of French, with their reports."""

    def __init__(
        self,
        partial: Translator | None = None,
        final: Translator | None = None,
        *,
        shed: bool = True,
        is_stale: Callable[[Utterance], bool] = lambda _: False,
    ) -> None:
        (alone,) = changed(Settings(), {"translate.targets": [{"lang": "fr"}]}).by_target()
        self.reports: list[Report] = []
        self.workers = TargetWorkers(
            alone,
            TargetEngines("fr", partial, final),
            emit=self.reports.append,
            is_stale=is_stale,
            shed=shed,
        )

    def start(self) -> None:
        for worker in self.workers.workers:
            worker.start()
            worker.begin()

    def finish(self) -> None:
        self.workers.transcripts.close()
        for worker in self.workers.workers:
            worker.join(20)
            assert not worker.is_alive()

    def run(self, *transcripts: Transcript) -> None:
        for each in transcripts:
            self.workers.transcripts.put(each)
        self.start()
        self.finish()

    @property
    def captions(self) -> list[Caption]:
        return [r.caption for r in self.reports if isinstance(r, Rendition)]

    def finals(self) -> list[tuple[int, str]]:
        return [(c.id, c.engine) for c in self.captions if c.final]


def test_a_quick_caption_and_its_final_are_renditions_in_the_language() -> None:
    bench = Bench(FakeTranslator("quick"), FakeTranslator("final"))
    bench.run(transcript())
    assert [(c.lang, c.engine, c.final) for c in bench.captions] == [
        ("fr", "quick", False),
        ("fr", "final", True),
    ]
    ended = {r.worker: r.error for r in bench.reports if isinstance(r, WorkerEnded)}
    assert ended == {"quick-fr": None, "translate-fr": None}


def test_what_operators_write_passes_the_gate_of_finals() -> None:
    bench = Bench()
    said = transcript(text="Read Second Timothy three, fourteen to seventeen.")
    made = Caption(said, "fr", "Lisez 2 Timothée 3:1417.", "marian", False)
    bench.workers.tell(Retranslated(1, made, "fr"))
    (report,) = bench.reports
    assert isinstance(report, Retranslated)
    assert report.caption is not None
    assert report.caption.text == "Lisez 2 Timothée 3:14-17."
    assert [check.outcome for check in report.caption.checks] == ["repaired"]


def test_whole_transcripts_wait_in_order_and_only_the_newest_partial() -> None:
    bench = Bench(FakeTranslator("quick"))
    bench.run(transcript(1), transcript(2), transcript(3, "a", final=False), transcript(3))
    assert [c.id for c in bench.captions] == [1, 2, 3]
    assert bench.finals() == [(1, "quick"), (2, "quick"), (3, "quick")]


def test_putting_never_waits_however_long_the_engine_takes() -> None:
    hang = threading.Event()
    bench = Bench(FakeTranslator("quick", hang=hang))
    bench.start()
    for number in range(1, 50):
        bench.workers.transcripts.put(transcript(number))
    assert bench.workers.waiting >= 48
    hang.set()
    bench.finish()
    assert [key for key, _ in bench.finals()] == list(range(1, 50))


def test_it_falls_behind_alone_and_shows_the_spoken_words_in_time() -> None:
    bench = Bench(FakeTranslator("quick"))
    bench.workers.transcripts.put(transcript(1))
    now_s = time.monotonic() + 15
    assert bench.workers.waits(now_s).longest_s == pytest.approx(15, abs=1)
    assert bench.workers.observe(now_s)
    assert bench.workers.degradation.rung is Rung.SOURCE_CAPTIONS
    assert bench.workers.degraded_reason.startswith("French: far behind")
    bench.run()
    assert bench.finals() == [(1, "source")]
    assert bench.workers.waits(now_s).longest_s == 0


def test_a_final_translator_that_keeps_up_translates_what_the_quick_one_cannot() -> None:
    bench = Bench(FakeTranslator("quick"), FakeTranslator("final"))
    bench.workers.transcripts.put(transcript(1))
    bench.workers.observe(time.monotonic() + 15)
    bench.run()
    assert [(c.engine, c.final) for c in bench.captions] == [("source", False), ("final", True)]


def test_what_waited_for_the_recognizer_is_translated() -> None:
    bench = Bench(FakeTranslator("quick"), FakeTranslator("final"))
    now_s = time.monotonic()
    bench.workers.transcripts.put(transcript(1, closed_s=now_s - 60))
    assert not bench.workers.observe(now_s + 1)
    bench.run()
    assert bench.finals() == [(1, "final")]


def test_what_is_played_as_fast_as_possible_falls_behind_no_clock() -> None:
    bench = Bench(FakeTranslator("quick"), shed=False)
    bench.workers.transcripts.put(transcript(1, closed_s=-1000.0))
    assert not bench.workers.observe(time.monotonic())
    assert not bench.workers.may_rest


def test_who_rests_takes_nothing_and_forgets_what_waits() -> None:
    quick = FakeTranslator("quick")
    bench = Bench(quick)
    bench.workers.transcripts.put(transcript(1))
    bench.workers.rest(True)
    bench.workers.transcripts.put(transcript(2))
    assert bench.workers.waiting == 0
    bench.workers.rest(False)
    bench.run(transcript(3, closed_s=time.monotonic()))
    assert bench.finals() == [(3, "quick")]


def test_what_was_closed_before_a_language_woke_is_filled_in() -> None:
    """The language never got the utterance's end, so an eager final would wait for it forever."""
    bench = Bench(FakeTranslator("quick"))
    bench.workers.rest(True)
    closed = transcript(1, closed_s=time.monotonic())
    bench.workers.rest(False)
    bench.workers.transcripts.put(closed)
    assert bench.workers.waiting == 0
    bench.workers.transcripts.fill(closed)
    bench.start()
    wait_for(bench.finals)
    bench.finish()
    assert bench.finals() == [(1, "quick")]


def test_what_was_said_before_is_filled_in_newest_first_and_never_twice() -> None:
    bench = Bench(FakeTranslator("quick"))
    for number in (1, 2, 3):
        bench.workers.transcripts.fill(transcript(number))
        bench.workers.transcripts.fill(transcript(number))
    bench.workers.transcripts.put(transcript(4))
    bench.workers.transcripts.fill(transcript(4))  # the language got it live
    bench.start()
    wait_for(lambda: len(bench.finals()) == 4)
    bench.finish()
    assert [key for key, _ in bench.finals()] == [4, 3, 2, 1]


def test_nothing_is_filled_in_while_the_final_translator_has_live_work() -> None:
    hang = threading.Event()
    bench = Bench(None, FakeTranslator("final", hang=hang))
    bench.start()
    for number in (5, 6):  # one at work, one waiting
        bench.workers.transcripts.put(transcript(number))
    bench.workers.transcripts.fill(transcript(1))
    time.sleep(0.3)
    assert {caption.id for caption in bench.captions} == {5, 6}
    hang.set()
    wait_for(lambda: len(bench.finals()) == 3)
    bench.finish()
    assert bench.finals()[-1] == (1, "final")


def test_what_speech_has_returned_to_is_left_alone() -> None:
    bench = Bench(FakeTranslator("quick"), is_stale=lambda u: u.id == 1)
    bench.run(transcript(1), transcript(2))
    assert [c.id for c in bench.captions] == [2]


def test_going_off_the_record_throws_away_what_waits() -> None:
    bench = Bench(FakeTranslator("quick"), FakeTranslator("final"))
    bench.workers.transcripts.put(transcript(1))
    bench.workers.transcripts.fill(transcript(2))
    bench.workers.discard()
    bench.run(transcript(3))
    assert {c.id for c in bench.captions} == {3}


def test_an_engine_that_fails_is_told_by_the_languages_own_name() -> None:
    bench = Bench(FakeTranslator("quick", fails=lambda _: True))
    bench.run(*(transcript(number) for number in range(1, 7)))
    faults = [r for r in bench.reports if isinstance(r, Fault)]
    assert {fault.stage for fault in faults} == {"quick-fr"}
    assert bench.finals() == [(number, "source") for number in range(1, 7)]
    assert "French: the quick translator failed" in bench.workers.degraded_reason


def test_samples_are_not_held_while_a_transcript_waits() -> None:
    bench = Bench(FakeTranslator("quick"))
    bench.workers.transcripts.put(transcript(1))
    waiting = bench.workers.transcripts.take()
    assert isinstance(waiting, Transcript)
    assert len(waiting.utterance.pcm) == 0


@pytest.mark.parametrize("with_final", [True, False])
def test_what_is_unfinished_can_be_taken_at_the_end(with_final: bool) -> None:
    hang = threading.Event()
    bench = Bench(
        FakeTranslator("quick"),
        FakeTranslator("final", hang=hang) if with_final else None,
    )
    bench.workers.transcripts.put(transcript(1))
    bench.start()
    wait_for(lambda: bench.captions)
    time.sleep(0.05)
    taken = bench.workers.take_unfinished()
    assert [(c.id, c.engine, c.final) for c in taken] == (
        [(1, "quick", True)] if with_final else []
    )
    hang.set()
    bench.finish()
