"""The report's templates: text is escaped, and a mistake in a template is an error."""

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
    read = Reader(render_part("tables.html", "uncovered", sentences=[said]))
    assert [name for name, _ in read.elements] == ["p", "ul", "li"]
    assert said in read.text


def test_control_characters_are_replaced() -> None:
    assert "<li>a\ufffdb\tc</li>" in render_part(
        "tables.html", "uncovered", sentences=["a\x00b\tc"]
    )


def test_a_value_that_is_missing_ends_the_report() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render_page("report.html", lede="", cards=[], sections=[], session="one")
