"""Reading one field of a JSON object that somebody else wrote: it is what we expect or refused.

Every function raises ProtocolError (`bad-json` or `bad-field`) whose message names the field.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import orjson

from pipeline.core.errors import ProtocolError

_MAX_INT = 2**53 - 1  # the largest integer that JavaScript counts exactly


def read_object(data: str | bytes) -> dict[str, Any]:
    """Return the JSON object that `data` holds."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise ProtocolError("bad-json", f"Not JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise ProtocolError("bad-json", "A message is a JSON object.")
    return value


def inner(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a field that is an object itself."""
    value = fields.get(key)
    if not isinstance(value, dict):
        raise ProtocolError("bad-field", f"{key} is an object.")
    return value


def integer(fields: Mapping[str, Any], key: str, low: int) -> int:
    """Return a whole number from `low` on."""
    value = fields.get(key)
    if type(value) is not int or not low <= value <= _MAX_INT:
        raise ProtocolError("bad-field", f"{key} is a whole number from {low}.")
    return value


def number(fields: Mapping[str, Any], key: str) -> float:
    """Return a number, as large as a whole number may be at most."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MAX_INT:
        raise ProtocolError("bad-field", f"{key} is a number.")
    return float(value)


def boolean(fields: Mapping[str, Any], key: str) -> bool:
    """Return true or false."""
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ProtocolError("bad-field", f"{key} is true or false.")
    return value


def string(fields: Mapping[str, Any], key: str, *, empty: bool = False) -> str:
    """Return a string; `empty` allows an empty one."""
    value = fields.get(key)
    if not isinstance(value, str) or not (value or empty):
        raise ProtocolError("bad-field", f"{key} is a string{'' if empty else ', not empty'}.")
    return value


def line(fields: Mapping[str, Any], key: str, most: int) -> str:
    """Return text of 1 to `most` characters; white space and control signs are one space."""
    text = string(fields, key)
    printable = "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in text)
    text = " ".join(printable.split())
    if not 0 < len(text) <= most:
        raise ProtocolError("bad-field", f"{key} has 1 to {most} characters.")
    return text
