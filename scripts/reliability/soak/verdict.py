"""Judge the samples of a soak: does anything grow?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

WARM_UP = 0.15
"""Share of the soak at its start that is ignored: caches fill, the allocator settles."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How much a figure may grow from the end of the warm-up to the end of the soak."""

    share: float
    """Allowed growth as a share of the median."""
    least: float
    """Growth that is always allowed, as noise."""


LIMITS = {
    "memory_mb": Limit(0.03, 8.0),
    "threads": Limit(0.0, 1.0),
    "handles": Limit(0.0, 5.0),
    "latency_ms": Limit(0.10, 20.0),
}


@dataclass(frozen=True, slots=True)
class Growth:
    """A figure's trend. `grown` comes from the slope, which is robust against outliers."""

    median: float
    grown: float
    allowed: float

    @property
    def ok(self) -> bool:
        """Whether the growth is within the limit."""
        return self.grown <= self.allowed


def growth(hours: Sequence[float], values: Sequence[float], limit: Limit) -> Growth:
    """Return how much `values` grow over `hours`, by the Theil-Sen slope: the median of all slopes.

    Sen, "Estimates of the regression coefficient based on Kendall's tau" (1968).
    """
    x, y = np.asarray(hours, float), np.asarray(values, float)
    kept = x >= x[0] + WARM_UP * (x[-1] - x[0])
    x, y = x[kept], y[kept]
    if len(x) > 600:  # more would have too many pairs; medians of 600 parts show the same
        parts = np.array_split(np.arange(len(x)), 600)
        x = np.array([np.median(x[part]) for part in parts])
        y = np.array([np.median(y[part]) for part in parts])
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    slopes = (y[second] - y[first])[run > 0] / run[run > 0]
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    median = float(np.median(y))
    return Growth(
        round(median, 2),
        round(slope * float(x[-1] - x[0]), 2),
        round(max(limit.least, limit.share * median), 2),
    )


def judge(
    samples: Sequence[dict[str, float]], utterances: Sequence[tuple[float, float]]
) -> dict[str, dict[str, object]]:
    """Return the growth of every figure and whether it is within its limit.

    `samples` have `hours` and the figures of the process, `utterances` are (hours, latency_ms).
    """
    hours = [sample["hours"] for sample in samples]
    courses = {
        name: growth(hours, [sample[name] for sample in samples], LIMITS[name])
        for name in ("memory_mb", "threads", "handles")
    }
    if utterances:
        when, latency = zip(*utterances, strict=True)
        courses["latency_ms"] = growth(when, latency, LIMITS["latency_ms"])
    return {name: {**asdict(course), "ok": course.ok} for name, course in courses.items()}
