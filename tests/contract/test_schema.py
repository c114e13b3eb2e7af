"""schema/ matches the types and is valid JSON Schema."""

from __future__ import annotations

import orjson
import pytest
from jsonschema import Draft202012Validator

from scripts.docs.make_schema import DIALECT, schemas, text
from tests.support.schemas import SCHEMA


def test_the_files_are_those_that_the_types_make() -> None:
    kept = {str(p.relative_to(SCHEMA).with_suffix("")): p.read_bytes() for p in SCHEMA.rglob("*.*")}
    # Not at import: it takes seconds, and each pytest process imports the module.
    made = {name: text(schema) for name, schema in schemas().items()}
    assert kept == made, "run: python -m scripts.docs.make_schema"


@pytest.mark.slow
def test_each_is_a_schema_of_its_dialect() -> None:
    files = sorted(SCHEMA.rglob("*.json"))
    assert len(files) > 30
    for file in files:
        schema = orjson.loads(file.read_bytes())
        assert schema["$schema"] == DIALECT, file
        assert schema["$id"] == str(file.relative_to(SCHEMA)), file
        Draft202012Validator.check_schema(schema)


def test_a_record_says_what_it_is() -> None:
    undescribed = []
    for file in sorted((SCHEMA / "records").glob("*.json")):
        schema = orjson.loads(file.read_bytes())
        if not schema.get("description") and file.stem != "event":
            undescribed.append(file.stem)
        for name, each in schema.get("$defs", {}).items():
            if not each["description"]:
                undescribed.append(f"{file.stem}: {name}")
    assert undescribed == []
