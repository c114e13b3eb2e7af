"""docs/RELIABILITY.md: each row has a test that exists, and codes that the program has."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT

HEAD = ["what goes in", "what the program does", "message and code", "exit code", "test"]
PLACES = (ROOT / "pipeline", ROOT / "scripts" / "training", ROOT / "scripts" / "gguf_export")
SOURCE = "\n".join(f.read_text("utf-8") for place in PLACES for f in sorted(place.rglob("*.py")))


class Row(NamedTuple):
    goes_in: str
    does: str
    message: str
    exit_code: str
    test: str


def lines() -> list[list[str]]:
    """Return the cells of every line of a table."""
    text = (ROOT / "docs" / "RELIABILITY.md").read_text("utf-8").partition("\n## The soak")[0]
    found = [line for line in text.splitlines() if line.startswith("|")]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in found]


ROWS = [Row(*cells) for cells in lines() if cells != HEAD and not cells[0].startswith("---")]


@cache
def defined_in(file: Path) -> frozenset[str]:
    """Return the tests that a file defines: `name` or `Class::name`."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for each in inner:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(prefix + each.name)
    return frozenset(name for name in found if name.split("::")[-1].startswith("test_"))


def test_the_tables_have_one_shape() -> None:
    assert all(len(cells) == len(HEAD) for cells in lines())
    assert len([cells for cells in lines() if cells == HEAD]) == 10
    assert len(ROWS) > 60
    assert [what for what, n in Counter(row.goes_in for row in ROWS).items() if n > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.goes_in[:60])
def test_a_row_names_a_test_and_codes_that_exist(row: Row) -> None:
    assert all(row)
    reference = re.fullmatch(r"`(tests/[\w/]+\.py)::([\w:]+)`", row.test)
    assert reference, row.test
    assert reference[2] in defined_in(ROOT / reference[1])
    for code in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", row.message):
        assert f'"{code}"' in SOURCE
    assert re.match(r"(0|1|2|70|78|goes on|killed)\b", row.exit_code)


def test_every_test_of_bad_input_has_a_row() -> None:
    named = {row.test.strip("`") for row in ROWS}
    ours = {
        f"{file.relative_to(ROOT)}::{name}"
        for file in (ROOT / "tests" / "faults").glob("test_bad_*.py")
        for name in defined_in(file)
    }
    assert ours - named == set()
