"""The sinks of a service write, send and count what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.config.loader import load
from pipeline.config.publishing import Publish
from pipeline.core.reports import Fault, SourceChanged
from pipeline.core.types import Mode
from pipeline.daemon.context import make_context
from pipeline.daemon.opening import OpenSession
from pipeline.daemon.outputs import MetricsSink, OutputSink, PageSink, PublishSink, RecordSink
from pipeline.daemon.sinks import Screen
from pipeline.dictionary.store import Dictionary
from pipeline.publish.publisher import Publisher
from pipeline.publish.stream import ServiceStatus
from pipeline.session.recorder import SessionRecorder
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


def test_a_rehearsal_tells_nobody_outside(tmp_path: Path) -> None:
    outside = {"publish.nats": "nats://127.0.0.1:1", "outputs.vmix": "http://127.0.0.1:1"}
    settings = load(flags={"operator.token": "secret", **outside}).settings
    for mode, kinds in (("live", {PublishSink, OutputSink}), ("dry-run", set())):
        folder = tmp_path / mode
        recorder = SessionRecorder(folder, source="en", target="es", on_fault=print)
        session = OpenSession(recorder, CaptionBoard("test", "en", "es", 10), None)
        dictionary = Dictionary(settings)
        context = make_context(settings, session, dictionary, cast("Mode", mode), Screen())
        assert {type(sink) for sink in context.sinks} & {PublishSink, OutputSink} == kinds
        recorder.close(5)


def test_what_every_display_is_sent_is_published(setting: CoordinatorFixture) -> None:
    status = ServiceStatus(
        session="test", mode="live", source="en", targets=("es",), state="starting"
    )
    publisher = Publisher(Publish(nats="nats://127.0.0.1:1"), status)  # never started
    sink = PublishSink(publisher, "es")
    sink.on_state("speech", "a reason for operators")
    setting.coordinator.show(caption("gracia", final=True))
    sink.on_caption(setting.screen.messages[-1])
    sink.on_notice({"es": "A las diez."})
    assert publisher.waiting == 2  # a caption, and the newest status
