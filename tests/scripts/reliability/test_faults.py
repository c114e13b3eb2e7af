"""`make faults`: every row of the matrix is found, run, and reported with its outcome."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from scripts.reliability.faults import MATRIX, Row, rows

TESTS = """
import pytest
def test_well(): pass
@pytest.mark.parametrize("n", [1, 2])
def test_twice(n): assert n == 1
def test_missing(): pytest.skip("no such thing here")
"""


def test_every_row_with_a_test_is_found() -> None:
    text = MATRIX.read_text("utf-8")
    found = rows(text)
    assert len(found) == text.count("| `tests/") > 100
    assert all(row.part and row.fault and row.does for row in found)


def test_a_bar_in_a_cell_is_no_column() -> None:
    (row,) = rows("## Part\n| `a \\| head` | ends | `x` | 1 | `tests/a.py::test_b` |")
    assert row == Row("Part", "`a | head`", "ends", ("tests/a.py::test_b",))


@pytest.mark.slow
def test_rows_are_told_as_they_went(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_three.py").write_text(TESTS)
    names = ["well", "twice", "missing"]
    rows = [f"| {name} | told | `tests/test_three.py::test_{name}` |\n" for name in names]
    matrix = tmp_path / "matrix.md"
    matrix.write_text(f"## Part\n{''.join(rows)}")
    # pytest cannot be run within itself: its plugins and warnings would be shared.
    code = f"""
import pathlib, sys
from scripts.reliability import faults
faults.ROOT, faults.MATRIX = pathlib.Path({str(tmp_path)!r}), pathlib.Path({str(matrix)!r})
sys.exit(faults.main())
"""

    def run(*arguments: str) -> tuple[int, str, list[str]]:
        done = subprocess.run(
            [sys.executable, "-c", code, "--json", "told.json", *arguments],
            cwd=tmp_path, env={"PYTHONPATH": str(MATRIX.parents[1])}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        results = orjson.loads((tmp_path / "told.json").read_bytes())
        return done.returncode, done.stdout, [each["outcome"] for each in results]

    code_of_all, output, outcomes = run()
    assert (code_of_all, outcomes) == (1, ["passed", "failed", "skipped"])
    assert "1 of 3 faults are handled as described." in output
    code_of_one, output, outcomes = run("--only", "well")
    assert (code_of_one, outcomes) == (0, ["passed"])
    assert "1 of 1 faults are handled as described." in output
