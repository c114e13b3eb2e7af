"""Sizes and times as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.core.formats import clock, human_size, utc_now


def test_the_time_now_is_read_back_with_its_zone_and_sorts_as_text() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    times = [utc_now() for _ in range(50)]
    assert before <= datetime.fromisoformat(times[0]) <= datetime.now(UTC)
    assert times == sorted(times)
    assert {len(each) for each in times} == {len("2026-11-22T09:30:00.123+00:00")}


def test_times_read_as_on_a_clock() -> None:
    assert [clock(s) for s in (-1, 0, 61.9, 3599, 3600, 36_061)] == [
        "0:00", "0:00", "1:01", "59:59", "1:00:00", "10:01:01",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (2_489_757_856, "2.49 GB"),
        (253_113_024, "0.25 GB"),
        (68_000_000, "68 MB"),
        (600_000, "0.6 MB"),
        (6_000_000, "6 MB"),
        (0, "0 MB"),
    ],
)
def test_bytes_are_told_as_people_read_them(size: int, shown: str) -> None:
    assert human_size(size) == shown
