"""What the design, the plan and the issues since ask for, row by row, and what proves each.

    python -m scripts.quality.audit               the table
    python -m scripts.quality.audit --only P -    rows that are proved in part, or not there
    python -m scripts.quality.audit --run 46 52   run the tests of these rows

The rows are in docs/audit.tsv. W: it works, and the tests named show it. P: in part, the note says
what is missing. -: not there, the note says why.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from scripts.support.command import parser_of
from scripts.support.paths import ROOT

FILE = ROOT / "docs" / "audit.tsv"
STATES = ("W", "P", "-")


@dataclass(frozen=True, slots=True)
class Row:
    """A requirement."""

    number: int
    what: str
    state: str
    proof: tuple[str, ...]
    """Test files, relative to the checkout; none if the state is -."""
    note: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or run tests; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", choices=STATES, default=STATES, metavar="STATE")
    parser.add_argument("--run", nargs="+", type=int, default=[], metavar="ROW")
    options = parser.parse_args(arguments)
    rows = read(FILE)
    if options.run:
        files = [test for row in rows if row.number in options.run for test in row.proof]
        if not files:
            print("These rows have no test.", file=sys.stderr)
            return 2
        return int(pytest.main(["-q", "-p", "no:cacheprovider", *dict.fromkeys(files)]))
    table = Table("row", "what", "", "proof", "note", box=None, pad_edge=False)
    for row in rows:
        if row.state in options.only:
            proof = "\n".join(test.removeprefix("tests/") for test in row.proof)
            table.add_row(str(row.number), row.what, row.state, proof, row.note)
    # Print whole lines into a file, too: there the console would assume 80 columns.
    Console(width=None if sys.stdout.isatty() else 200, markup=False).print(table)
    counts = Counter(row.state for row in rows)
    print(f"{len(rows)} rows: {counts['W']} W, {counts['P']} P, {counts['-']} -")
    return 0


def read(file: Path) -> list[Row]:
    """Return the rows of a table in their order."""
    with file.open(encoding="utf-8", newline="") as opened:
        return [
            Row(
                number=int(line["row"]),
                what=line["what"],
                state=line["state"],
                proof=tuple(test for test in line["proof"].split() if test != "-"),
                note=line["note"],
            )
            for line in csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


if __name__ == "__main__":
    raise SystemExit(main())
