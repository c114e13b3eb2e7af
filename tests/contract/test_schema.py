"""schema/ is what the types say, and valid by the standard itself."""

from __future__ import annotations

import orjson
import pytest
from jsonschema import Draft202012Validator

from scripts.docs.make_schema import DIALECT, schemas, text
from tests.support.schemas import SCHEMA

MADE = schemas()


def test_the_files_are_those_that_the_types_make() -> None:
    kept = {str(p.relative_to(SCHEMA).with_suffix("")): p.read_bytes() for p in SCHEMA.rglob("*.*")}
    made = {name: text(schema) for name, schema in MADE.items()}
    assert kept == made, "run: python -m scripts.docs.make_schema"


@pytest.mark.parametrize("name", MADE)
def test_each_is_a_schema_of_its_dialect(name: str) -> None:
    schema = orjson.loads((SCHEMA / f"{name}.json").read_bytes())
    assert schema["$schema"] == DIALECT
    assert schema["$id"] == f"{name}.json"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", [name for name in MADE if name.startswith("records/")])
def test_a_record_says_what_it_is(name: str) -> None:
    schema = MADE[name]
    assert schema.get("description") or name == "records/event"
    for each in schema.get("$defs", {}).values():
        assert each["description"]
