"""Building blocks of the fuzzing tests: damaged bytes, odd values, TOML, the one oracle."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from pipeline.core.errors import StarkError

T = TypeVar("T")

FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""Examples have no deadline, because a busy machine can stall for seconds; pytest's timeout ends a
hanging test. All examples may share a test's folder."""

_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def accepted(act: Callable[[], T], *named: str) -> T | None:
    """Return what `act` returns, None if it raises a StarkError; anything else fails the test.

    The error must have a code and a message; it must contain one of `named`, if there are any.
    """
    try:
        return act()
    except StarkError as error:
        refusal = error
    assert _CODE.fullmatch(refusal.code), refusal.code
    assert refusal.message.strip()
    assert not named or any(each in str(refusal) for each in named), str(refusal)
    return None


@st.composite
def damaged(draw: st.DrawFn, good: bytes, most: int = 4) -> bytes:
    """Return `good` with up to `most` pieces flipped, cut, doubled, moved or inserted."""
    data = bytearray(good)
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(0, max(1, min(64, len(data) - at))))
        match draw(st.sampled_from(["flip", "cut", "end", "double", "move", "put"])):
            case "flip" if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at : at + size]
            case "end":
                del data[at:]
            case "double":
                data[at:at] = data[at : at + size]
            case "move":
                piece = data[at : at + size]
                del data[at : at + size]
                to = draw(st.integers(0, len(data)))
                data[to:to] = piece
            case "put":
                data[at:at] = draw(st.binary(max_size=16))
            case _:
                pass
    return bytes(data)


@st.composite
def damaged_lines(draw: st.DrawFn, lines: list[bytes]) -> bytes:
    """Return lines that a bad disk has torn, doubled, reordered or changed by flipped bits."""
    chosen = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        if not chosen:
            break
        at = draw(st.integers(0, len(chosen) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "damage", "tear"])):
            case "drop":
                del chosen[at]
            case "double":
                chosen.insert(draw(st.integers(0, len(chosen))), chosen[at])
            case "swap":
                other = draw(st.integers(0, len(chosen) - 1))
                chosen[at], chosen[other] = chosen[other], chosen[at]
            case "damage":
                chosen[at] = draw(damaged(chosen[at], most=2))
            case _:
                chosen = [*chosen[:at], chosen[at][: draw(st.integers(0, len(chosen[at])))]]
    return b"".join(chosen)


TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", " ", "\0", "\ud800".encode("utf-8", "replace").decode(), "é" * 300, "-1"]),
    st.sampled_from(["@", "#", "../..", "a\nb", "1e999", "nan", "true", "[]", "{}", "\u2028"]),
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from([2**53, 2**63, -(2**63), 2**64, 10**30, 1e308]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
"""All that JSON can express, and a little more."""


def toml(table: Mapping[str, Any]) -> str:
    """Return a table as TOML, each value on one line; what TOML cannot express becomes a string."""
    return "".join(f"{json.dumps(key)} = {_toml_value(value)}\n" for key, value in table.items())


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)  # inf and nan are valid TOML
        case list() | tuple():
            return f"[{', '.join(_toml_value(each) for each in value)}]"
        case dict():
            inner = ", ".join(f"{json.dumps(k)} = {_toml_value(v)}" for k, v in value.items())
            return f"{{{inner}}}"
        case _:
            return json.dumps(str(value)).replace("\x7f", "\\u007f")
