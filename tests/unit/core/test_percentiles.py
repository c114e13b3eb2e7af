"""Percentiles are measured values, and the same in every report of a session."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.percentiles import Spread, nearest_rank, spread
from pipeline.review.report import report
from pipeline.session.recorder import SessionRecorder
from tests.support.pages import Reader, rows
from tests.support.utterances import draft, final, kept

STAGES = {
    "vad_wait_ms": "voice detector&#39;s wait",
    "stt_busy_ms": "recognizer, waiting",
    "stt_ms": "recognizer",
    "partial_ms": "quick translator",
    "final_busy_ms": "final translator, waiting",
    "final_ms": "final translator",
    "overhead_ms": "everything else",
    "start_to_first_text_ms": "start of speech to first words",
    "last_syllable_to_partial_ms": "last syllable to quick translation",
    "last_syllable_to_final_ms": "last syllable to caption",
}
"""The fields of the summary, and the row of the report that tells the same."""


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=300),
    st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]),
)
def test_a_percentile_was_measured_and_the_share_is_not_above_it(
    values: list[float], share: float
) -> None:
    ordered = sorted(values)
    found = nearest_rank(ordered, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < share * len(values)


def test_a_spread_leaves_out_what_was_not_measured() -> None:
    assert spread([3.0, None, 1.0, 2.04]) == Spread(3, 2.0, 3.0, 3.0, 3.0)
    assert spread(float(n) for n in range(1, 101)) == Spread(100, 50.0, 95.0, 99.0, 100.0)
    assert spread([None]) is None
    assert spread([]) is None


@pytest.mark.parametrize("utterances", [2, 7])
def test_summary_and_report_of_one_session_tell_the_same(tmp_path: Path, utterances: int) -> None:
    recorder = SessionRecorder(tmp_path, source="en", targets=("es",), on_fault=print)
    recorder.start()
    times = random.Random(utterances)
    for number in range(1, utterances + 1):
        measured: dict[str, Any] = {field: float(times.randrange(10, 5000)) for field in STAGES}
        recorder.record(replace(kept(final(), draft()), id=number, **measured))
    assert recorder.close(5.0)
    summary = json.loads((recorder.folder / "summary.json").read_text())["latencies"]
    page = report(recorder.folder)
    table = {row[0]: row[1:] for row in rows(page) if len(row) == 5}
    assert summary.keys() == STAGES.keys()
    for field, name in STAGES.items():
        median, p95 = (float(cell.replace(",", "")) for cell in table[name][:2])
        assert (median, p95) == (summary[field]["p50_ms"], summary[field]["p95_ms"]), field
    p50_s, p95_s = (
        summary["last_syllable_to_final_ms"][share] / 1000 for share in ("p50_ms", "p95_ms")
    )
    text = Reader(page).text
    assert f"within {p50_s:.1f} s of the last syllable, 95 of 100 within {p95_s:.1f} s" in text
