"""`make faults`: every row of the matrix is found, run, and told as it went."""

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
    file = tmp_path / "test_three.py"
    file.write_text(TESTS)
    names = ["test_well", "test_twice", "test_missing", "test_nowhere"]
    # pytest cannot be run within itself: its plugins and warnings would be shared.
    code = f"""
from rich.console import Console
from scripts.reliability import faults
faults.ROOT = __import__("pathlib").Path({str(tmp_path)!r})
matrix = [faults.Row("", n, "", (f"test_three.py::{{n}}",)) for n in {names[:3]!r}]
print([result.outcome for result in faults.run(matrix, Console(stderr=True))])
"""
    command = [sys.executable, "-c", code]
    root = str(MATRIX.parents[1])
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": root}, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["['passed', 'failed', 'skipped']"], done.stderr


@pytest.mark.slow
def test_one_row_of_the_real_matrix(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.reliability.faults", "--only", "path traversal"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "faults.json")],
        cwd=MATRIX.parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 faults are handled as described." in done.stdout
    (result,) = orjson.loads((tmp_path / "faults.json").read_bytes())
    assert (result["outcome"], result["row"]["part"]) == ("passed", "Network")
