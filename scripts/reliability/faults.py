"""Runs the fault matrix: the tests of every row of docs/RELIABILITY.md.

    python -m scripts.reliability.faults                      all rows
    python -m scripts.reliability.faults --only microphone    rows that have this word in them
    python -m scripts.reliability.faults --json faults.json   the results as a file too

Ends with code 1 when a row fails, or when its test was skipped because something is missing here.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from scripts.support.command import parser_of, write_json
from scripts.support.paths import ROOT

MATRIX = ROOT / "docs" / "RELIABILITY.md"
_TEST = re.compile(r"`(tests/[^`]+::[^`]+)`")


@dataclass(frozen=True, slots=True)
class Row:
    """A fault and the tests that show its effect."""

    part: str
    fault: str
    does: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A row's outcome: passed, failed, or skipped; and the seconds that its tests took."""

    row: Row
    outcome: str
    seconds: float


def rows(text: str) -> list[Row]:
    """Return the rows of the document's tables that name a test."""
    found, part = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            part = line[3:]
        elif line.startswith("|") and (tests := _TEST.findall(line)):
            fault, does = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:3])
            found.append(Row(part, fault.replace("\\|", "|"), does, tuple(tests)))
    return found


class Outcomes:
    """A pytest plugin that notes the outcome of each test, without its parameters."""

    def __init__(self, progress: Progress, bar: TaskID) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.outcomes: dict[str, set[str]] = defaultdict(set)
        self._progress = progress
        self._bar = bar

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note the number of tests."""
        self._progress.update(self._bar, total=len(items))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the report of a test's set-up, call or tear-down."""
        test = report.nodeid.partition("[")[0]
        self.seconds[test] += report.duration
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[test].add(report.outcome)
        if report.when == "teardown":
            self._progress.advance(self._bar)

    def of(self, row: Row) -> Result:
        """Return the outcome of a row: the worst of its tests."""
        seen = set().union(*(self.outcomes.get(test, {"not found"}) for test in row.tests))
        worst = next(o for o in ("failed", "not found", "skipped", "passed") if o in seen)
        return Result(row, worst, round(sum(self.seconds[test] for test in row.tests), 2))


def run(matrix: Sequence[Row], console: Console) -> list[Result]:
    """Run the tests of these rows, each once."""
    tests = sorted({test for row in matrix for test in row.tests})
    with Progress(console=console) as progress:
        outcomes = Outcomes(progress, progress.add_task("faults", total=None))
        # Without the terminal plugin its options of pyproject.toml would be unknown.
        quiet = ["-p", "no:terminal", "-o", "addopts=", "--import-mode=importlib"]
        pytest.main([*quiet, "--rootdir", str(ROOT), *tests], plugins=[outcomes])
    return [outcomes.of(row) for row in matrix]


def show(results: Iterable[Result], console: Console) -> None:
    """Print the matrix with its outcomes."""
    colours = {"passed": "green", "skipped": "yellow"}
    table = Table("fault", "what the program does", "s", "", box=None, padding=(0, 1))
    part = ""
    for result in results:
        if result.row.part != part:
            part = result.row.part
            table.add_row(f"[bold]{part}[/bold]")
        colour = colours.get(result.outcome, "red")
        mark = f"[{colour}]{result.outcome}[/{colour}]"
        table.add_row(result.row.fault, result.row.does, f"{result.seconds:.1f}", mark)
    console.print(table)


def main() -> int:
    """Run the matrix; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with this in them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    arguments = parser.parse_args()
    every = rows(MATRIX.read_text("utf-8"))
    matrix = [row for row in every if arguments.only.lower() in str(row).lower()]
    if not matrix:
        parser.error(f"no row of {MATRIX.name} has {arguments.only!r} in it")
    console = Console(width=None if sys.stdout.isatty() else 160)
    results = run(matrix, Console(stderr=True))
    show(results, console)
    passed = sum(result.outcome == "passed" for result in results)
    console.print(f"{passed} of {len(results)} faults are handled as described.")
    write_json(arguments.json, [asdict(each) for each in results])
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
