"""The histogram of silences."""

from __future__ import annotations

from dataclasses import replace

from pipeline.records.summary import BINS_MS, PauseHistogram
from tests.support.utterances import final, kept


def test_silences_are_counted_by_the_beginning_of_their_bin() -> None:
    histogram = PauseHistogram()
    record = kept(final(), None)
    histogram.add(replace(record, pauses_ms=(64, 95, 96, 199, 5000), pause_before_ms=640))
    histogram.add(replace(record, pauses_ms=(), pause_before_ms=None))
    histogram.add(replace(record, pauses_ms=(), pause_before_ms=32))
    inside, between = histogram.counts["inside"], histogram.counts["between"]
    assert {key: count for key, count in inside.items() if count} == {
        "64": 2, "96": 1, "160": 1, "2000": 1,
    }  # fmt: skip
    assert {key: count for key, count in between.items() if count} == {"64": 1, "600": 1}
    assert list(inside) == list(between) == [str(least) for least in BINS_MS]
