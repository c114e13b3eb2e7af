"""Percentiles of measured times. Pure.

All figures of a session come from here, so that its summary, report and score agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a measure, in milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float
    max: float


def nearest_rank(ordered: Sequence[float], share: float) -> float:
    """Return the percentile `share` of sorted values by the nearest-rank method.

    `ordered` has at least one value; 0 < `share` <= 1. Nothing is interpolated: the result is a
    value that was measured, and at least `share` of all values do not exceed it.
    """
    return ordered[math.ceil(share * len(ordered)) - 1]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return the distribution of the values that are not None, rounded to 0.1; None if empty."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None  # not zero: a stage that never ran was not quick
    p50, p95, p99 = (round(nearest_rank(ordered, share), 1) for share in (0.50, 0.95, 0.99))
    return Spread(len(ordered), p50, p95, p99, round(ordered[-1], 1))
