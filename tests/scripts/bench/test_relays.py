"""Relays under load: the arithmetic, and a small run of real processes."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.bench.relays.__main__ import figures, run
from tests.support.relays import needs_nats


def told(**changes: Any) -> dict[str, Any]:
    return {"published": {"1": 10.0, "2": 11.0}, "cpu_s": 0.004, "troubles": []} | changes


def hall(*received: dict[str, float], **changes: Any) -> dict[str, Any]:
    return {"received": list(received), "lost": 0, "twice": 0} | changes


def test_times_are_from_the_church_to_the_display() -> None:
    both = {"1": 10.020, "2": 11.040}
    found = figures(told(), [hall(both), hall(both)], 2, 0.001)
    assert found["delivered"] == 4
    assert found["delivery_ms"]["most"] == pytest.approx(40)
    assert (found["missed"], found["skipped"]) == (0, 0)
    assert found["relay_cpu_us_a_delivery"] == 250.0
    assert found["church_cpu_ms_a_caption"] == 2.0


def test_a_display_without_the_last_caption_has_missed_it() -> None:
    found = figures(told(), [hall({"1": 10.02}, {"2": 11.02})], 2, 0.001)
    assert (found["missed"], found["skipped"]) == (1, 2)


@pytest.mark.slow
def test_a_small_run() -> None:
    needs_nats()
    found = run(2, 20, 5.0)
    assert (found["missed"], found["lost"], found["twice"], found["troubles"]) == (0, 0, 0, [])
    assert found["delivered"] + found["skipped"] == 20 * found["published"]
    assert found["relay_cpu_us_a_delivery"] > 0
