"""Whether a JSON value has the shape that a type asks for. Pure.

For what we wrote ourselves and a disk may have spoilt: a record that is whole JSON and still no
record must be found before anything relies on it.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import types
import typing
from collections import abc
from typing import Any


def conforms(value: Any, wanted: Any) -> bool:  # noqa: PLR0911 - one for each kind of type
    """Return whether a value read from JSON could have been made of one of the type `wanted`.

    Known are what records consist of: dataclasses (all fields must be there, others may), str,
    bool, int, float (a whole number will do), None, Literal, unions, `tuple[T, ...]` and
    `Mapping[str, T]`. Raises TypeError for another type.
    """
    inner = typing.get_args(wanted)
    match typing.get_origin(wanted) or wanted:
        case typing.Union | types.UnionType:
            return any(conforms(value, each) for each in inner)
        case typing.Literal:
            return any(type(value) is type(each) and value == each for each in inner)
        case builtins.tuple:
            found = isinstance(value, list)
            return found and all(conforms(each, inner[0]) for each in value)
        case abc.Mapping:
            found = isinstance(value, dict)
            return found and all(conforms(each, inner[1]) for each in value.values())
        case builtins.float:
            return type(value) in (int, float)
        case builtins.str | builtins.bool | builtins.int | types.NoneType:
            return type(value) is wanted
        case type() as kind if dataclasses.is_dataclass(kind):
            found, fields = isinstance(value, dict), _fields(kind)
            return found and all(at in value and conforms(value[at], each) for at, each in fields)
    raise TypeError(f"no shape is known of {wanted}")


@functools.cache
def _fields(wanted: type) -> tuple[tuple[str, Any], ...]:
    """Return (name, type) of a dataclass's fields."""
    hints = typing.get_type_hints(wanted)
    return tuple((each.name, hints[each.name]) for each in dataclasses.fields(wanted))
