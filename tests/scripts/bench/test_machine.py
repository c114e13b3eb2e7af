"""What figures say of where they were measured."""

from __future__ import annotations

import re

from scripts.bench.report_section import PACKAGES, machine


def test_figures_name_the_day_the_processor_and_the_engines() -> None:
    told = machine()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", told["date"])
    assert re.search(r", \d+ cores$", told["cpu"])
    assert {"python", *PACKAGES} <= set(told)
    assert all(told.values())
