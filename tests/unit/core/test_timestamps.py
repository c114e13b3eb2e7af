"""Times as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipeline.core.timestamps import utc_now


def test_the_time_now_is_read_back_with_its_zone_and_sorts_as_text() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    told = [utc_now() for _ in range(50)]
    assert before <= datetime.fromisoformat(told[0]) <= datetime.now(UTC)
    assert told == sorted(told)
    assert {len(each) for each in told} == {len("2026-11-22T09:30:00.123+00:00")}
