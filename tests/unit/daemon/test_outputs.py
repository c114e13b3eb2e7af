"""The sinks of a service write, send and count what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.reports import Fault, SourceChanged
from pipeline.daemon.outputs import MetricsSink, PageSink, RecordSink
from tests.support.coordinator import CoordinatorFixture, caption


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[CoordinatorFixture]:
    made = CoordinatorFixture(tmp_path)
    yield made
    made.recorder.close(5)


def test_the_record_is_told_before_any_screen(setting: CoordinatorFixture) -> None:
    kinds = [type(sink) for sink in setting.context.sinks]
    assert kinds == [RecordSink, PageSink, MetricsSink, type(setting.screen)]


def test_a_fault_is_written_and_counted(setting: CoordinatorFixture) -> None:
    for sink in setting.context.sinks:
        sink.on_fault(Fault("translate", "final-failed", "It failed."))
        sink.on_source(SourceChanged(lost=True, message="unplugged"))
    assert [(e["event"], e["utc"] > "2020") for e in setting.written()] == [
        ("fault", True),
        ("source", True),
    ]
    exposition = setting.context.metrics.exposition()
    assert b'stark_engine_errors_total{stage="translate"} 1.0' in exposition


def test_edits_are_shown_but_only_engines_captions_are_counted(setting: CoordinatorFixture) -> None:
    setting.coordinator.show(caption("gracia", final=True))
    setting.coordinator.publish(setting.board.edit(1, "la gracia"))
    assert [m.target.text for m in setting.screen.messages] == ["gracia", "la gracia"]
    exposition = setting.context.metrics.exposition()
    assert b'stark_captions_total{engine="gemma",kind="final"} 1.0' in exposition
    journal = setting.written("captions.jsonl")
    assert [line["target"]["text"] for line in journal] == ["gracia", "la gracia"]
