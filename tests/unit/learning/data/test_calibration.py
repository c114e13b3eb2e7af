"""The threshold, from shares and from what people have decided."""

from __future__ import annotations

import pytest

from pipeline.learning.data.calibration import calibrate


@pytest.mark.parametrize(
    ("scores", "accept"),
    [
        ([], 0.85),
        ([0.9] * 5 + [0.5] * 5, 0.85),
        ([0.9] * 9 + [0.5], 0.88),
        ([0.9] * 2 + [0.83] * 8, 0.82),
    ],
)
def test_until_people_have_decided_the_share_that_passes_does(
    scores: list[float], accept: float
) -> None:
    assert calibrate(scores, []).accept == accept


def test_from_200_on_the_lowest_precise_threshold_that_lets_half_through() -> None:
    scores = [step / 1000 for step in range(500, 1000)]
    # Good from 0.78 on, except for one in 50.
    reviewed = [(score, score >= 0.78 and step % 50 != 0) for step, score in enumerate(scores)]
    made = calibrate(scores, reviewed)
    row = next(row for row in made.rows if row.threshold == made.accept)
    assert 0.4 <= row.share <= 0.6
    assert row.precision is not None
    assert row.precision >= 0.95
    below = [row for row in made.rows if row.threshold < made.accept and row.share <= 0.6]
    assert all((row.precision or 0) < 0.95 for row in below)


def test_without_a_precise_one_it_is_the_most_precise() -> None:
    scores = [step / 1000 for step in range(500, 1000)]
    reviewed = [(score, step % 5 < (4 if score > 0.76 else 2)) for step, score in enumerate(scores)]
    made = calibrate(scores, reviewed)
    assert "most precise" in made.reason
    assert made.accept >= 0.76


def test_precision_is_told_at_each_threshold() -> None:
    made = calibrate([0.9, 0.8], [(0.9, True), (0.8, False)])
    by = {row.threshold: (row.reviewed, row.precision) for row in made.rows}
    assert (by[0.75], by[0.85], by[0.95]) == ((2, 0.5), (1, 1.0), (0, None))
