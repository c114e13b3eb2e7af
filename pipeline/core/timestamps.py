"""Times of day in the format of records and messages."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the time now, such as 2026-11-22T09:30:00.123+00:00: UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def utc_offset_min() -> int:
    """Return by how many minutes the clock of this place is ahead of UTC now."""
    offset = datetime.now().astimezone().utcoffset()
    return round(offset.total_seconds() / 60) if offset else 0
