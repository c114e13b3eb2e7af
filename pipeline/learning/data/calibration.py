"""From which score on a pair is accepted without a person: fitted to decisions of people. Pure.

Until enough pairs are reviewed, only the share that passes decides: 0.85 as specified, 0.88 where
more than 80 % pass, 0.82 where fewer than 30 % do. From 200 reviewed pairs on, the lowest
threshold is taken that lets 40 to 60 % through with a precision of 0.95; where there is none, that
of the best precision within these shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

START, STRICTER, LOOSER = 0.85, 0.88, 0.82
MANY, FEW = 0.8, 0.3
ENOUGH = 200
"""Reviewed pairs from which on they decide."""
PRECISION = 0.95
_SHARES = (0.4, 0.6)
# Rounded, so that START and its two neighbours are found among them as they are written.
_THRESHOLDS = tuple(round(0.60 + 0.01 * step, 2) for step in range(39))


@dataclass(frozen=True, slots=True)
class Row:
    """What a threshold would do. `precision` is None where no reviewed pair reaches it."""

    threshold: float
    share: float
    """Of all captions, 0..1."""
    reviewed: int
    """Reviewed pairs from this score on."""
    precision: float | None
    """Of those, how many were approved as they were, 0..1."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The threshold in force and why."""

    accept: float
    reason: str
    captions: int
    reviewed: int
    rows: tuple[Row, ...]


def calibrate(scores: Sequence[float], reviewed: Sequence[tuple[float, bool]]) -> Calibration:
    """Return the threshold that fits.

    `scores` are those of all captions, 0 for one that something else speaks against; `reviewed`
    the scores of those that a person has judged, and whether the pair was good as it was.
    """
    rows = tuple(_row(threshold, scores, reviewed) for threshold in _THRESHOLDS)
    accept, reason = _chosen(rows, len(scores), len(reviewed))
    return Calibration(accept, reason, len(scores), len(reviewed), rows)


def _row(threshold: float, scores: Sequence[float], reviewed: Sequence[tuple[float, bool]]) -> Row:
    passing = [good for score, good in reviewed if score >= threshold]
    share = sum(score >= threshold for score in scores) / max(1, len(scores))
    precision = round(sum(passing) / len(passing), 4) if passing else None
    return Row(threshold, round(share, 4), len(passing), precision)


def _chosen(rows: Sequence[Row], captions: int, reviewed: int) -> tuple[float, str]:
    by_threshold = {row.threshold: row for row in rows}
    if not captions:
        return START, "no caption yet"
    if reviewed >= ENOUGH:
        within = [row for row in rows if _SHARES[0] <= row.share <= _SHARES[1] and row.precision]
        precise = [row for row in within if (row.precision or 0) >= PRECISION]
        if precise:
            # Thresholds rise: the first is the lowest.
            return precise[0].threshold, f"the lowest with a precision of {PRECISION:g}"
        if within:
            best = max(within, key=lambda row: (row.precision or 0, -row.threshold))
            return best.threshold, "the most precise that lets 40 to 60 % through"
    share = by_threshold[START].share
    if share > MANY:
        return STRICTER, f"{share:.0%} would pass {START:g}"
    if share < FEW:
        return LOOSER, f"only {share:.0%} would pass {START:g}"
    return START, f"{share:.0%} pass"
