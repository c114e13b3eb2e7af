"""Draw plots as inline SVG: a timeline in lanes, columns. Pure.

Colours come from the page's style sheet by class, so that they follow its theme; an element's
`title` is its tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from pipeline.core.formats import clock

# Control characters are errors in HTML, and nobody can read them.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def tag(name: str, /, *content: str, **attributes: object) -> Markup:
    """Return an element. Attributes that are None are left out.

    A name that is a Python keyword ends with an underscore (`class_`); an underscore inside a name
    stands for a hyphen (`text_anchor`). Numbers get one decimal, a tenth of a pixel.
    """
    filled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    # Attributes are escaped above and content by `join`: an f-string escapes nothing.
    return Markup(f"<{name}{filled}>{join(*content)}</{name}>")  # noqa: S704 - escaped above


def _written(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) else printable(str(value))


def join(*content: str) -> Markup:
    """Return the joined pieces; those that are not Markup are escaped."""
    return Markup("").join(printable(piece) for piece in content)


def printable(text: str) -> str:
    """Return a text (or Markup) with its control characters replaced."""
    return text.translate(_CONTROLS)


WIDTH = 1000
_LEFT, _RIGHT, _AXIS = 92, 12, 26
_PLOT = WIDTH - _LEFT - _RIGHT
_LANE_GAP = 8
_COLUMNS = 180  # their height
_TIME_STEPS_S = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
_THINNEST = 1.5  # a second of a two-hour service would be a tenth of a pixel


@dataclass(frozen=True, slots=True)
class Bar:
    """A time range in a lane. `kind` is its class, `href` the target of a click."""

    start_s: float
    end_s: float
    kind: str
    title: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the timeline: bars, or values that hold until the next one, 0 to `top`."""

    name: str
    height: int
    bars: Sequence[Bar] = ()
    steps: Sequence[tuple[float, float]] = ()
    """(seconds, value)"""
    top: float = 1.0


def timeline(length_s: float, lanes: Sequence[Lane]) -> Markup:
    """Return lanes over the time of a session."""
    # A session without sound has length 0, and positions are divided by the length.
    length_s = max(length_s, 1.0)
    height = sum(lane.height + _LANE_GAP for lane in lanes)
    # Twelve labels fit beside each other.
    step_s = next((s for s in _TIME_STEPS_S if length_s / s <= 12), _TIME_STEPS_S[-1])
    content: list[Markup] = []
    for tick in range(int(length_s // step_s) + 1):
        x = _x(tick * step_s, length_s)
        content.append(_line(x, 0, x, height, "grid"))
        content.append(_label(x, height + 16, clock(tick * step_s), "middle"))
    top = 0
    for lane in lanes:
        content.append(_label(_LEFT - 10, top + lane.height / 2 + 4, lane.name, "end"))
        content.append(_box(_LEFT, top, _PLOT, lane.height, "lane"))
        content += [_bar(bar, length_s, top, lane.height) for bar in lane.bars]
        if lane.steps:
            content.append(_steps(lane, length_s, top))
        top += lane.height + _LANE_GAP
    return _svg(height + _AXIS, "Timeline of the session", content)


def columns(
    values: Sequence[tuple[str, float | None]],
    top: float,
    says: str,
    goal: float | None = None,
) -> Markup:
    """Return a column for each (label, value), none where the value is None.

    `top` is the least height of the axis, in the values' unit; a band reaches up to `goal`.
    """
    height = _COLUMNS
    top = max([top, *(value for _, value in values if value is not None)])
    content: list[Markup] = []
    if goal is not None:
        tall = goal / top * (height - 20)
        content.append(_box(_LEFT, height - tall, _PLOT, tall, "lane"))
    for share in (0.0, 0.5, 1.0):
        y = height - share * (height - 20)
        content.append(_line(_LEFT, y, _LEFT + _PLOT, y, "grid"))
        # On both sides: a phone shows the newest, on the right, first.
        content.append(_label(_LEFT - 10, y + 4, f"{share * top:.3g}", "end"))
        content.append(_label(_LEFT + _PLOT, y - 4, f"{share * top:.3g}", "end"))
    pitch = _PLOT / max(1, len(values))
    # At most 60, so that a chart of two services does not consist of two walls.
    width = min(60.0, pitch * 0.8)
    # Ten names fit beside each other.
    every = math.ceil(len(values) / 10)
    for number, (label, value) in enumerate(values):
        x = _LEFT + (number + 0.5) * pitch
        if value is not None:
            tall = value / top * (height - 20)
            box = _box(x - width / 2, height - tall, width, tall, "count")
            content.append(_linked(f"{label}: {value:.3g}", None, [box]))
        if (len(values) - 1 - number) % every == 0:  # the newest always has its name
            content.append(_label(x, height + 16, label, "middle"))
    return _svg(height + _AXIS, says, content)


def _steps(lane: Lane, length_s: float, top: int) -> Markup:
    floor = top + lane.height
    # Cut off at the top: one value beyond it must not be drawn over the lane above.
    at = [(_x(s, length_s), floor - min(1.0, v / lane.top) * lane.height) for s, v in lane.steps]
    path = f"M{at[0][0]:.1f},{floor}" + "".join(
        f"V{y:.1f}H{(at[number + 1][0] if number + 1 < len(at) else _LEFT + _PLOT):.1f}"
        for number, (_, y) in enumerate(at)
    )
    return tag("path", d=f"{path}V{floor}Z", class_="steps")


def _bar(bar: Bar, length_s: float, top: int, height: int) -> Markup:
    x = _x(bar.start_s, length_s)
    width = max(_THINNEST, _x(bar.end_s, length_s) - x)
    return _linked(bar.title, bar.href, [_box(x, top, width, height, bar.kind)])


def _linked(title: str, href: str | None, content: Iterable[Markup]) -> Markup:
    inside = join(tag("title", title), *content)
    # Tables have the same links, so the Tab key skips these: they may be hundreds.
    return tag("a", inside, href=href, tabindex="-1") if href else tag("g", inside)


def _x(value: float, length: float) -> float:
    return _LEFT + _PLOT * min(1.0, max(0.0, value / length))


def _box(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return tag("rect", x=x, y=y, width=width, height=height, class_=kind)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _label(x: float, y: float, says: str, anchor: str) -> Markup:
    return tag("text", says, x=x, y=y, text_anchor=anchor)


def _svg(height: float, says: str, content: Iterable[Markup]) -> Markup:
    # An image must not contain links, and a timeline is full of them.
    return tag("svg", *content, viewBox=f"0 0 {WIDTH} {height:g}", role="group", aria_label=says)
