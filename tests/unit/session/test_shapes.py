"""JSON that has the shape of a record, and JSON that only looks like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from pipeline.session.shapes import conforms


@dataclass(frozen=True)
class Inner:
    kind: Literal["a", "b"]
    count: int


@dataclass(frozen=True)
class Outer:
    text: str
    share: float | None
    inner: tuple[Inner, ...] = ()
    sizes: Mapping[str, int] | None = None


GOOD = {"text": "x", "share": 1, "inner": [{"kind": "a", "count": 3}], "sizes": {"a": 1}}


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        {**GOOD, "text": "", "share": None},
        {**GOOD, "unknown": object()},
        {**GOOD, "inner": []},
        {**GOOD, "sizes": None},
    ],
)
def test_what_has_the_shape(value: Any) -> None:
    assert conforms(value, Outer)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {key: GOOD[key] for key in ("text", "share", "inner")},
        {**GOOD, "text": 1},
        {**GOOD, "share": True},
        {**GOOD, "share": "1"},
        {**GOOD, "inner": {"kind": "a"}},
        {**GOOD, "inner": [{"kind": "c"}]},
        {**GOOD, "inner": [{"kind": "a", "count": 1.5}]},
        {**GOOD, "sizes": {"a": None}},
        {**GOOD, "sizes": []},
    ],
)
def test_what_has_not(value: Any) -> None:
    assert not conforms(value, Outer)


def test_a_type_that_no_record_has_is_our_mistake() -> None:
    with pytest.raises(TypeError, match="set"):
        conforms([], set[int])
