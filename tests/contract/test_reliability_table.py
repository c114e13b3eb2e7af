"""docs/RELIABILITY.md: each row has a test that exists, and codes that the program has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.paths import ROOT

HEAD = ["fault", "what happens", "code and exit code", "test"]
PLACES = (ROOT / "pipeline", ROOT / "training")


class Row(NamedTuple):
    fault: str
    happens: str
    codes: str
    test: str

    @property
    def tests(self) -> list[str]:
        return self.test.split(", ")


def lines() -> list[list[str]]:
    """Return the cells of every table line."""
    text = (ROOT / "docs" / "RELIABILITY.md").read_text("utf-8").partition("\n## The soak")[0]
    found = [line for line in text.splitlines() if line.startswith("|")]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in found]


ROWS = [Row(*cells) for cells in lines() if cells != HEAD and not cells[0].startswith("---")]


def quoted_in_the_program() -> set[str]:
    """Return every quoted word in the program; each code is quoted once."""
    files = (file for place in PLACES for file in place.rglob("*.py"))
    return {
        word for file in files for word in re.findall(r'"([a-z0-9-]+)"', file.read_text("utf-8"))
    }


DEFINED = re.compile(r"^(?:class (\w+)|( {4})?(?:async )?def (test_\w+))", re.MULTILINE)
"""A class, or a test in a module or in its latest class, as ruff formats them."""


@cache
def defined_in(file: Path) -> frozenset[str]:
    """Return the tests that a file defines, as `name` or `Class::name`."""
    found: set[str] = set()
    latest = ""
    # Parsing the files would take half a second.
    for a_class, indent, test in DEFINED.findall(file.read_text("utf-8")):
        latest = a_class or latest
        found |= {f"{latest}::{test}" if indent else test} if test else set()
    return frozenset(found)


def test_the_tables_have_one_shape() -> None:
    assert all(len(cells) == len(HEAD) for cells in lines())
    assert len([cells for cells in lines() if cells == HEAD]) == 11
    assert len(ROWS) > 60
    assert [what for what, n in Counter(row.fault for row in ROWS).items() if n > 1] == []


def wrong_in(row: Row, quoted: set[str]) -> Iterator[str]:
    """Yield the errors of a row; `quoted` are the quoted words in the program."""
    if not all(row):
        yield "a cell is empty"
    for test in row.tests:
        reference = re.fullmatch(r"`(tests/[\w/]+\.py)::([\w:]+)`", test)
        if not reference:
            yield f"is not the name of a test: {test}"
        elif reference[2] not in defined_in(ROOT / reference[1]):
            yield f"no such test: {test}"
    for code in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", row.codes):
        if code not in quoted:
            yield f"the program has no code {code}"
    for code in re.findall(r"\b\d+\b", re.sub(r"`[^`]*`|HTTP \w+", "", row.codes)):
        if code not in ("0", "1", "2", "70", "78"):
            yield f"is no exit code: {code}"


def test_each_row_names_a_test_and_codes_that_exist() -> None:
    quoted = quoted_in_the_program()
    wrong = {row.fault: list(wrong_in(row, quoted)) for row in ROWS}
    assert {row: why for row, why in wrong.items() if why} == {}


def test_a_row_of_what_there_is_not_is_found() -> None:
    test = "tests/contract/test_reliability_table.py::test_nothing"
    row = Row("x", "x", "`no-such-code`, 3", f"`{test}`")
    assert list(wrong_in(row, {"audio-missing"})) == [
        f"no such test: `{test}`",
        "the program has no code no-such-code",
        "is no exit code: 3",
    ]
    assert len(list(wrong_in(row._replace(happens="", test="by hand"), set()))) == 4


def test_every_test_of_bad_input_has_a_row() -> None:
    named = {test.strip("`") for row in ROWS for test in row.tests}
    ours = {
        f"{file.relative_to(ROOT)}::{name}"
        for file in (ROOT / "tests" / "faults").glob("test_bad_*.py")
        for name in defined_in(file)
    }
    assert ours - named == set()
