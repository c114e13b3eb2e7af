"""How numbers of bytes, lengths of time and times of day are written."""

from __future__ import annotations

from datetime import UTC, datetime


def human_size(size: int) -> str:
    """Return a number of bytes such as "2.49 GB" or "68 MB", in thousands."""
    if size >= 100_000_000:
        return f"{size / 1e9:.2f} GB"
    return f"{f'{size / 1e6:.1f}'.removesuffix('.0')} MB"


def clock(seconds: float) -> str:
    """Return a time of the session: 1:02 or 1:02:03."""
    minutes, s = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"


def utc_now() -> str:
    """Return the time now, such as 2026-11-22T09:30:00.123+00:00: UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def utc_offset_min() -> int:
    """Return by how many minutes the clock of this place is ahead of UTC now."""
    # Asked each time: it changes twice a year where clocks are put forward.
    offset = datetime.now().astimezone().utcoffset()
    return round(offset.total_seconds() / 60) if offset else 0
