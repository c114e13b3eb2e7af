"""The schemas of schema/, and what is wrong with a value by one of them."""

from __future__ import annotations

import functools
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from tests.support.paths import ROOT

SCHEMA = ROOT / "schema"


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of `records/pair`, say."""
    return Draft202012Validator(orjson.loads((SCHEMA / f"{name}.json").read_bytes()))


def problems(name: str, value: Any) -> list[str]:
    """Return what is wrong with a value; nothing is if it fits."""
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(value)]
