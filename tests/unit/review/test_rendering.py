"""The report's templates: text is escaped, and a template's mistake is not passed over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from pipeline.review.rendering import render_page, render_part
from tests.support.pages import Reader


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_text_comes_back_as_it_was(said: str) -> None:
    read = Reader(render_part("tables.html", "troubles", rows=[(said, [])], most=1))
    assert "td" in [name for name, _ in read.elements]
    assert said in read.text


def test_control_characters_are_replaced() -> None:
    told = render_part("tables.html", "troubles", rows=[("a\x00b\tc", [])], most=1)
    assert "a\ufffdb\tc" in told


def test_a_value_that_is_missing_ends_the_report() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render_page("report.html", lede="", cards=[], sections=[], session="one")
