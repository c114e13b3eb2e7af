"""The compare thread: it delays nobody, and its failures affect nothing else."""

from __future__ import annotations

import pytest

from pipeline.core.errors import EngineGoneError, ModelCrashError, ModelError, StarkError
from pipeline.core.reports import Fault, Report, WorkerEnded
from pipeline.core.types import Caption, Comparison
from pipeline.workers.base import FAULTS_IN_A_ROW
from pipeline.workers.group import LIMIT, Compare
from pipeline.workers.steps import as_final
from scripts.support.records import caption
from tests.support.fakes import FakeTranslator


def final(key: int, source: str = "amen brother", target: str = "amén hermano") -> Caption:
    return as_final(caption(key, source, target, final=True, engine="gemma"))


def worker(translator: FakeTranslator, reports: list[Report], limit: int = LIMIT) -> Compare:
    model = "/models/other.gguf"
    return Compare(lang="es", translator=translator, model=model, emit=reports.append, limit=limit)


def run(translator: FakeTranslator, count: int, limit: int = LIMIT) -> list[Report]:
    reports: list[Report] = []
    made = worker(translator, reports, limit)
    for key in range(1, count + 1):
        made.put(final(key))
    made.end()
    made.end()
    made.start()
    made.begin()
    made.join(20)
    assert reports[-1] == WorkerEnded("compare", None)
    return reports


def compared(reports: list[Report]) -> list[int]:
    return [report.id for report in reports if isinstance(report, Comparison)]


def faults(reports: list[Report]) -> list[str]:
    return [report.code for report in reports if isinstance(report, Fault)]


def test_every_final_is_compared_in_order() -> None:
    reports = run(FakeTranslator("other"), 3)
    assert compared(reports) == [1, 2, 3]
    first = next(report for report in reports if isinstance(report, Comparison))
    assert first.translation.text == "amen-other brother-other"
    assert (first.final, first.lang, first.model) == ("amén hermano", "es", "other.gguf")
    assert first.span.end_s >= first.span.start_s > 0
    assert faults(reports) == []


def test_what_there_is_no_time_for_is_left_out_and_counted() -> None:
    """Handing over never waits: here it ends before the worker has begun."""
    reports = run(FakeTranslator("other"), LIMIT + 3)
    assert compared(reports) == list(range(1, LIMIT + 1))
    assert reports[-2] == Fault("compare", "compare-incomplete", "3 captions were not compared.")


def test_without_a_limit_all_wait() -> None:
    assert len(compared(run(FakeTranslator("other"), 3 * LIMIT, limit=0))) == 3 * LIMIT


def test_a_failure_costs_one_comparison() -> None:
    reports = run(FakeTranslator("other", fails=lambda call: call == 2), 3)
    assert compared(reports) == [1, 3]
    assert faults(reports) == ["final-failed", "compare-incomplete"]


def test_after_failures_in_a_row_it_is_left_alone() -> None:
    failing = FakeTranslator("other", fails=lambda _: True)
    reports = run(failing, FAULTS_IN_A_ROW + 4)
    assert failing.calls == FAULTS_IN_A_ROW
    left_out = f"{FAULTS_IN_A_ROW + 4} captions were not compared."
    assert reports[-2] == Fault("compare", "compare-incomplete", left_out)


def test_while_its_process_is_away_nothing_is_compared_and_it_is_tried_again() -> None:
    def says(*_: object) -> None:
        if translator.calls <= FAULTS_IN_A_ROW:
            raise EngineGoneError("engine-gone", "It is not there.")

    translator = FakeTranslator("other", says=says)
    reports = run(translator, FAULTS_IN_A_ROW + 2)
    assert faults(reports) == ["compare-incomplete"], "its keeper tells the rest"
    assert len(compared(reports)) == 2


@pytest.mark.parametrize(
    "error",
    [
        ModelError("model-broken", "translate.compare.model: /x is damaged.", "Set it anew."),
        ModelCrashError("model-crashes", "It crashes whenever it is loaded."),
    ],
)
def test_a_broken_model_is_reported_and_ends_nothing(error: StarkError) -> None:
    reports = run(FakeTranslator("other", cannot_load=error), 2)
    assert [report for report in reports if isinstance(report, Fault)] == [
        Fault("compare", error.code, error.message),
        Fault("compare", "compare-incomplete", "2 captions were not compared."),
    ]


def test_a_mistake_in_the_settings_ends_the_rehearsal() -> None:
    error = ModelError("model-missing", "translate.compare.model: /x is not there.")
    reports: list[Report] = []
    made = worker(FakeTranslator("other", cannot_load=error), reports)
    made.start()
    made.join(20)
    assert reports == [WorkerEnded("compare", error)]
