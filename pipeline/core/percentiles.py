"""Percentiles of measured times. Pure.

All figures of a session come from here, so that its summary, report and score agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """How a measure is spread, milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float
    max: float


def nearest_rank(ordered: Sequence[float], share: float) -> float:
    """Return the smallest of the sorted values that at least `share` of them do not exceed.

    `ordered` has at least one value; 0 < `share` <= 1. Nothing is interpolated: the answer is a
    value that was measured. (The nearest-rank method: of many definitions the plainest.)
    """
    return ordered[math.ceil(share * len(ordered)) - 1]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return how values are spread, rounded to 0.1 ms. None: there are none."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None
    p50, p95, p99 = (round(nearest_rank(ordered, share), 1) for share in (0.50, 0.95, 0.99))
    return Spread(len(ordered), p50, p95, p99, round(ordered[-1], 1))
