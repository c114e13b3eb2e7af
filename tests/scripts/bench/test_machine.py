"""What figures say about the machine that measured them."""

from __future__ import annotations

import re

from scripts.bench.report_section import PACKAGES, machine


def test_figures_name_the_day_the_processor_and_the_engines() -> None:
    facts = machine()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])
    assert re.search(r", \d+ cores$", facts["cpu"])
    assert {"python", *PACKAGES} <= set(facts)
    assert all(facts.values())
