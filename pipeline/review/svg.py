"""Draw plots as inline SVG: a timeline in lanes, stacked columns, a histogram. Pure.

Colours come from the page's style sheet by class, so that they follow its theme; an element's
`title` is what a pointer shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

# Control characters are errors in HTML, and nobody can read them.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def tag(name: str, /, *content: str, **attributes: object) -> Markup:
    """Return an element. Attributes that are None are left out.

    A name that Python keeps for itself ends with an underscore (`class_`), one with a hyphen has an
    underscore in its place (`text_anchor`).
    """
    filled = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{filled}>{join(*content)}</{name}>")  # noqa: S704 - escaped above


def join(*content: str) -> Markup:
    """Return pieces as one; those that are not Markup are escaped."""
    return Markup("").join(printable(piece) for piece in content)


def printable(text: str) -> str:
    """Return a text (or Markup) with its control characters replaced."""
    return text.translate(_CONTROLS)


WIDTH = 1000
_LEFT, _RIGHT, _AXIS = 92, 12, 26
_PLOT = WIDTH - _LEFT - _RIGHT
_LANE_GAP = 8
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


@dataclass(frozen=True, slots=True)
class Column:
    """The times of one utterance: milliseconds by kind, from the bottom up."""

    parts: Mapping[str, float]
    title: str
    href: str | None = None


def clock(seconds: float) -> str:
    """Return a time of the session: 1:02 or 1:02:03."""
    whole = max(0, int(seconds))
    hours, minutes, s = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"


def timeline(length_s: float, lanes: Sequence[Lane]) -> Markup:
    """Return lanes over the time of a session."""
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


def stacked(columns: Sequence[Column], height: int = 240) -> Markup:
    """Return a column for each utterance, in order; the axis is in seconds."""
    most_ms = max((sum(column.parts.values()) for column in columns), default=0.0)
    content, scale = _seconds_axis(most_ms, height)
    pitch = _PLOT / max(1, len(columns))
    # Of a long service columns are thinner than a pixel: gaps between them would make it grey.
    width = max(0.6, pitch * 0.82 if pitch > 3 else pitch)
    for number, column in enumerate(columns):
        y = float(height)
        boxes: list[Markup] = []
        for kind, ms in column.parts.items():
            if ms > 0:
                y -= ms * scale
                boxes.append(_box(_LEFT + number * pitch, y, width, ms * scale, kind))
        content.append(_linked(column.title, column.href, boxes))
    content.append(_label(_LEFT, height + 16, "first utterance", "start"))
    content.append(_label(_LEFT + _PLOT, height + 16, "last", "end"))
    return _svg(height + _AXIS, "Latency of each utterance by stage", content)


def columns(
    values: Sequence[tuple[str, float | None]], top: float, says: str, height: int = 180
) -> Markup:
    """Return a column for each (label, value), none where the value is None.

    `top` is the least height of the axis, in the values' unit.
    """
    top = max([top, *(value for _, value in values if value is not None)])
    content: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        y = height - share * (height - 20)
        content.append(_line(_LEFT, y, _LEFT + _PLOT, y, "grid"))
        # On both sides: a phone shows the newest, on the right, first.
        content.append(_label(_LEFT - 10, y + 4, f"{share * top:.3g}", "end"))
        content.append(_label(_LEFT + _PLOT, y - 4, f"{share * top:.3g}", "end"))
    pitch = _PLOT / max(1, len(values))
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


def histogram(
    values_ms: Sequence[float], marks: Mapping[str, float], height: int = 180, bins: int = 40
) -> Markup:
    """Return a histogram of latencies with vertical marks at named values (milliseconds)."""
    top_ms = max([*values_ms, *marks.values(), 1.0])
    step_ms = _nice(top_ms / 8)
    top_ms = math.ceil(top_ms / step_ms) * step_ms
    counts = [0] * bins
    for value in values_ms:
        counts[min(bins - 1, int(value / top_ms * bins))] += 1
    most = max(counts) or 1
    floor, pitch = height, _PLOT / bins
    content: list[Markup] = []
    for tick in range(round(top_ms / step_ms) + 1):
        x = _x(tick * step_ms, top_ms)
        content.append(_line(x, 24, x, floor, "grid"))
        content.append(_label(x, floor + 16, f"{tick * step_ms / 1000:g} s", "middle"))
    for number, count in enumerate(counts):
        if count:
            tall = count / most * (floor - 40)
            low, high = number * top_ms / bins / 1000, (number + 1) * top_ms / bins / 1000
            box = _box(_LEFT + number * pitch + 0.5, floor - tall, pitch - 1, tall, "count")
            content.append(_linked(f"{low:.2g} to {high:.2g} s: {count}", None, [box]))
    for number, (name, value) in enumerate(marks.items()):
        x = _x(value, top_ms)
        # Near the right edge a label to the right would be cut off.
        side = "end" if x > _LEFT + _PLOT * 0.85 else "start"
        content.append(_line(x, 4, x, floor, "mark"))
        x += 5 if side == "start" else -5
        # Two heights in turn: p50 and p95 of a quick service are close together.
        content.append(_label(x, 13 + 13 * (number % 2), f"{name} {value / 1000:.2f} s", side))
    content.append(_label(_LEFT - 10, floor, "0", "end"))
    content.append(_label(_LEFT - 10, 44, f"{most}", "end"))
    return _svg(height + _AXIS, "Distribution of latency", content)


def _seconds_axis(most_ms: float, height: int) -> tuple[list[Markup], float]:
    """Return grid lines and labels of a vertical axis, and its pixels for a millisecond."""
    step_ms = _nice(max(most_ms, 100.0) / 5)
    top_ms = max(1, math.ceil(most_ms / step_ms)) * step_ms
    scale = (height - 8) / top_ms
    content: list[Markup] = []
    for tick in range(round(top_ms / step_ms) + 1):
        y = height - tick * step_ms * scale
        content.append(_line(_LEFT, y, _LEFT + _PLOT, y, "grid"))
        content.append(_label(_LEFT - 10, y + 4, f"{tick * step_ms / 1000:g} s", "end"))
    return content, scale


def _steps(lane: Lane, length_s: float, top: int) -> Markup:
    floor = top + lane.height
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
    # Tables have the same links: hundreds of stops of the Tab key would only be in the way.
    return tag("a", inside, href=href, tabindex="-1") if href else tag("g", inside)


def _x(value: float, length: float) -> float:
    return _LEFT + _PLOT * min(1.0, max(0.0, value / length))


def _box(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return tag(
        "rect",
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        class_=kind,
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def _label(x: float, y: float, says: str, anchor: str) -> Markup:
    return tag("text", says, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _svg(height: float, says: str, content: Iterable[Markup]) -> Markup:
    # An image may hold no links, and a timeline is full of them.
    return tag("svg", *content, viewBox=f"0 0 {WIDTH} {height:g}", role="group", aria_label=says)


def _nice(rough: float) -> float:
    """Return the next of 1, 2, 5, 10, 20 ... from `rough` on."""
    power: float = 10.0 ** math.floor(math.log10(max(rough, 1e-6)))
    # A hair less: what is such a number already must not be missed by a rounding error.
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
