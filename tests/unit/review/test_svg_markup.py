"""HTML by construction: nothing that is text becomes anything else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from pipeline.review.svg import join, printable, tag
from tests.support.pages import Reader


def test_an_element_is_written_to_the_letter() -> None:
    assert tag("p", "a < b & ", tag("b", "c"), class_="x", text_anchor='"end"', id=None) == (
        '<p class="x" text-anchor="&#34;end&#34;">a &lt; b &amp; <b>c</b></p>'
    )
    assert join(Markup("<br>"), "<br>") == "<br>&lt;br&gt;"
    assert printable("a\x00b\x1b[31m\tc") == "a\ufffdb\ufffd[31m\tc"


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_text_comes_back_as_it_was(said: str) -> None:
    read = Reader(tag("p", said, title=said))
    assert read.elements == [("p", (("title", said),))]
    assert read.text == said
