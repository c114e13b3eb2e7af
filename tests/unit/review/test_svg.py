"""Plots: every element is in its place, inside the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from markupsafe import Markup

from pipeline.review.svg import (
    Bar,
    Lane,
    columns,
    join,
    printable,
    tag,
    timeline,
)


def shapes(plot: Markup, kind: str) -> list[dict[str, float]]:
    """Return the position and the size of each rectangle of a class."""
    return [
        {key: float(value) for key, value in element.attrib.items() if key != "class"}
        for element in ET.fromstring(plot).iter("rect")
        if element.get("class") == kind
    ]


def labels(plot: Markup) -> list[str]:
    return [str(element.text) for element in ET.fromstring(plot).iter("text")]


def test_bars_lie_at_their_time() -> None:
    bars = [Bar(0, 50, "a", "first", "#u1"), Bar(50, 50, "b", "a moment")]
    plot = timeline(100, [Lane("captions", 20, bars)])
    (lane,), (a,), (b,) = (shapes(plot, kind) for kind in ("lane", "a", "b"))
    assert a["x"] == lane["x"]
    assert a["width"] == pytest.approx(lane["width"] / 2, abs=0.1)
    assert b["x"] == pytest.approx(lane["x"] + lane["width"] / 2, abs=0.1)
    assert b["width"] > 1
    assert "captions" in labels(plot)
    assert {"0:00", "0:10", "1:40"} <= set(labels(plot))
    assert [a.get("href") for a in ET.fromstring(plot).iter("a")] == ["#u1"]


def test_the_goal_is_a_band_behind_the_columns() -> None:
    plot = columns([("then", 0.5), ("now", None), ("later", 2.0)], 1.0, "How quickly", 1.0)
    (band,) = shapes(plot, "lane")
    first, highest = shapes(plot, "count")
    assert band["height"] == pytest.approx(2 * first["height"], abs=0.2)
    assert band["height"] == pytest.approx(highest["height"] / 2, abs=0.2)
    assert shapes(columns([("then", 0.5)], 1.0, "How quickly"), "lane") == []


@pytest.mark.parametrize("length_s", [0, 1, 59, 3600, 90_000])
def test_the_axis_of_any_session_is_readable(length_s: float) -> None:
    assert 1 <= len(labels(timeline(length_s, []))) <= 26


def test_a_line_holds_its_value_until_the_next() -> None:
    plot = timeline(100, [Lane("lag", 30, steps=[(0, 0), (50, 2), (75, 9)], top=4)])
    (path,) = ET.fromstring(plot).iter("path")
    assert path.get("d") == "M92.0,30V30.0H540.0V15.0H764.0V0.0H988.0V30Z"


def test_an_element_is_written_to_the_letter() -> None:
    assert tag("p", "a < b & ", tag("b", "c"), class_="x", text_anchor='"end"', id=None) == (
        '<p class="x" text-anchor="&#34;end&#34;">a &lt; b &amp; <b>c</b></p>'
    )
    assert join(Markup("<br>"), "<br>") == "<br>&lt;br&gt;"
    assert printable("a\x00b\x1b[31m\tc") == "a\ufffdb\ufffd[31m\tc"
