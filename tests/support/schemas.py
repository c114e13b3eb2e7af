"""The schemas of schema/, and a value's violations of one."""

from __future__ import annotations

import functools
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from tests.support.paths import ROOT

SCHEMA = ROOT / "schema"


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a schema such as `records/pair`."""
    return Draft202012Validator(orjson.loads((SCHEMA / f"{name}.json").read_bytes()))


def problems(name: str, value: Any) -> list[str]:
    """Return a value's violations of the schema; none if it is valid."""
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(value)]
