"""The report's templates: no control characters, and a mistake in a template is an error."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from pipeline.review.rendering import render_page, render_part


def test_control_characters_are_replaced() -> None:
    assert "<li>a\ufffdb\tc</li>" in render_part(
        "tables.html", "uncovered", sentences=["a\x00b\tc"]
    )


def test_a_value_that_is_missing_ends_the_report() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render_page("report.html", lede="", cards=[], sections=[], session="one")
