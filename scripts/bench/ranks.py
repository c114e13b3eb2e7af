"""Percentiles of measured values as text, as all benchmarks print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from pipeline.core.percentiles import nearest_rank


def ranks(values: Iterable[float], *shares: float) -> list[float]:
    """Return the percentiles `shares` (0..1) of some values; nothing without values."""
    ordered = sorted(values)
    return [nearest_rank(ordered, share) for share in shares] if ordered else []


def mean_p90_p95(values: Sequence[float]) -> list[float]:
    """Return the mean and two percentiles of some values; nothing without values."""
    return [fmean(values), *ranks(values, 0.9, 0.95)] if values else []


def slashed(values: Iterable[float], digits: int = 2) -> str:
    """Return values as `0.49 / 0.86 / 0.90`, or "-" without values."""
    return " / ".join(f"{value:.{digits}f}" for value in values) or "-"
