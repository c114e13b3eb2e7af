"""The quick pass of a further language: partials as its own rung allows. What it has in common
with the first target's is in test_transcriber.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.config.schema import Settings
from pipeline.core.errors import ModelCrashError
from pipeline.core.reports import Fault, Report
from pipeline.core.types import Caption, Recognition, Transcript, Utterance
from pipeline.workers.degradation import LIMIT_S, Degradation, Rung, Waits
from pipeline.workers.queues import TranscriptQueue
from pipeline.workers.quick import Quick, QuickPass
from tests.support.fakes import FakeTranslator


def partial(revision: int) -> Transcript:
    pcm = np.zeros(8_000, np.float32)
    utterance = Utterance(1, revision, False, "partial", 0, 8_000, pcm)
    text = " ".join(["grace"] * revision)
    return Transcript(utterance, "en", text, text, Recognition(text))


def quick(reports: list[Report], translator: FakeTranslator, rung: Rung = Rung.FULL) -> Quick:
    degradation = Degradation()
    degradation.observe(Waits(quick_s=LIMIT_S.get(rung, 0.0) * 1.1), 0.0)
    made = QuickPass(
        settings=Settings(),
        translator=translator,
        drafts=None,
        degradation=degradation,
        emit=reports.append,
        stage="quick-fr",
        shed=True,
    )
    return Quick(
        "quick-fr",
        quick=made,
        transcripts=TranscriptQueue(lambda: True),
        degradation=degradation,
        emit=reports.append,
        is_stale=lambda _: False,
    )


@pytest.mark.parametrize(
    ("rung", "shown"), [(Rung.FULL, 6), (Rung.FEWER_PARTIALS, 3), (Rung.NO_PARTIALS, 0)]
)
def test_partials_are_given_up_first(rung: Rung, shown: int) -> None:
    reports: list[Report] = []
    worker = quick(reports, FakeTranslator("quick"), rung)
    for revision in range(1, 7):
        worker._take(partial(revision))
    assert sum(isinstance(report, Caption) for report in reports) == shown


def test_a_model_that_crashes_is_done_without() -> None:
    class Crashing(FakeTranslator):
        def load(self) -> None:
            raise ModelCrashError("model-crashes", "It crashes.")

    reports: list[Report] = []
    worker = quick(reports, Crashing("quick"))
    worker.load()
    worker._take(partial(1))
    assert [report.code for report in reports if isinstance(report, Fault)] == ["model-crashes"]
    assert [report.engine for report in reports if isinstance(report, Caption)] == ["source"]
