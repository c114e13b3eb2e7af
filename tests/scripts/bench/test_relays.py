"""Relays under load: the arithmetic, and a small run of real processes."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from scripts.bench.relays.__main__ import figures, refuse_too_many, run
from tests.support.relays import needs_nats


def told(**changes: Any) -> dict[str, Any]:
    return {"published": {"es": {"1": 10.0, "2": 11.0}}, "cpu_s": 0.004, "troubles": []} | changes


def hall(*received: dict[str, float], **changes: Any) -> dict[str, Any]:
    return {"received": list(received), "lost": 0, "twice": 0, "cpu_s": 0.0} | changes


def test_times_are_from_the_church_to_the_display() -> None:
    both = {"1": 10.020, "2": 11.040}
    found = figures(told(), [hall(both), hall(both)], 0.001, ("es",))
    assert found["delivered"] == 4
    assert found["delivery_ms"]["most"] == pytest.approx(40)
    assert (found["missed"], found["skipped"]) == (0, 0)
    assert found["relay_cpu_us_a_delivery"] == 250.0
    assert found["church_cpu_ms_a_caption"] == 2.0


def test_a_display_without_the_last_caption_has_missed_it() -> None:
    found = figures(told(), [hall({"1": 10.02}, {"2": 11.02})], 0.001, ("es",))
    assert (found["missed"], found["skipped"]) == (1, 2)


def test_each_display_is_compared_with_its_language() -> None:
    """Displays take the languages in turn, starting with the first at each relay."""
    published = {"es": {"1": 10.0}, "fr": {"1": 10.0, "2": 11.0}}
    heard = [hall({"1": 10.01}, {"1": 10.01, "2": 11.01}), hall({"1": 10.01}, {"1": 10.01})]
    found = figures(told(published=published), heard, 0.001, ("es", "fr"))
    assert (found["published"], found["delivered"]) == (3, 5)
    assert (found["missed"], found["skipped"]) == (1, 1)
    assert found["delivery_ms"]["most"] == pytest.approx(10)


def test_more_displays_than_open_files_are_refused_with_what_helps() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        with pytest.raises(SystemExit, match="sudo prlimit --pid"):
            refuse_too_many(2 * before[1], 1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.slow
def test_a_small_run() -> None:
    needs_nats()
    found = run(2, 12, 2.0)
    assert (found["missed"], found["lost"], found["twice"], found["troubles"]) == (0, 0, 0, [])
    assert found["delivered"] + found["skipped"] == 12 * found["published"] // 3
    assert found["relay_cpu_us_a_delivery"] > 0
