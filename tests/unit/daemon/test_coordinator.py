"""The desk: one state out of many facts, and one record per utterance, whatever the order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.types import (
    Fault,
    SourceChanged,
)
from tests.support.coordinator import CoordinatorFixture, caption, transcript, utterance


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[CoordinatorFixture]:
    made = CoordinatorFixture(tmp_path)
    yield made
    made.recorder.close(5)


def test_lag_is_the_age_of_the_oldest_without_a_final(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    assert coordinator.lag_s(9.0) == 0.0
    coordinator.on_closed(utterance(1))
    coordinator.on_closed(replace(utterance(2), closed_s=3.0))
    assert (coordinator.unfinished, coordinator.lag_s(9.0)) == (2, 8.0)
    assert (coordinator.lag_s(9.0, but=1), coordinator.lag_s(9.0, but=2)) == (6.0, 8.0)
    coordinator.show(caption("gracia", final=True, id=1))
    assert (coordinator.unfinished, coordinator.lag_s(9.0)) == (1, 6.0)
    coordinator.on_filtered(replace(transcript(id=2), filtered="no-speech"))
    assert (coordinator.unfinished, coordinator.lag_s(9.0)) == (0, 0.0)


def test_one_record_per_utterance_with_all_that_was_shown(setting: CoordinatorFixture) -> None:
    coordinator = setting.coordinator
    coordinator.on_closed(utterance())
    coordinator.show(caption("graci", final=False))
    coordinator.show(caption("gracia", final=False))
    coordinator.show(caption("la gracia", final=True))
    coordinator.show(caption("tarde", final=True))  # an engine that hung comes back
    coordinator.show(caption("tarde", final=False))
    (record,) = setting.written()
    assert (record["updates"], record["partial"]["text"]) == (3, "graci")
    assert record["final"]["text"] == "la gracia"
    assert record["normalized_erasure"] > 0
    (line,) = setting.written("captions.jsonl")
    assert line["target"]["text"] == "la gracia"
    assert coordinator.unfinished == 0


def test_what_was_shown_of_a_filtered_text_is_taken_back(setting: CoordinatorFixture) -> None:
    setting.coordinator.show(caption("gracias por ver", final=False))
    setting.coordinator.on_filtered(
        replace(transcript("thanks for watching"), filtered="stock-phrase")
    )
    assert setting.board.snapshot().messages == ()
    (record,) = setting.written()
    assert (record["filtered"], record["updates"]) == ("stock-phrase", 1)


def test_faults_and_sources_are_recorded_and_counted(setting: CoordinatorFixture) -> None:
    setting.coordinator.on_fault(Fault("translate", "final-failed", "It failed."))
    setting.coordinator.on_source(SourceChanged(lost=True, message="unplugged"))
    setting.coordinator.on_source(SourceChanged(lost=False, message="back"))
    events = setting.written()
    assert [e["event"] for e in events] == ["fault", "source", "source"]
    assert (
        b'stark_engine_errors_total{stage="translate"} 1.0' in setting.context.metrics.exposition()
    )
