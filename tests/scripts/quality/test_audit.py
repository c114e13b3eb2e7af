"""docs/audit.tsv: every row names tests that exist, or says why it has none."""

from __future__ import annotations

import pytest

from scripts.quality import audit
from tests.support.paths import ROOT

ROWS = audit.read(audit.FILE)


def test_every_row_has_a_proof_or_a_reason() -> None:
    assert [row.number for row in ROWS] == list(range(1, 193))
    wrong = [
        row.number
        for row in ROWS
        if row.state not in audit.STATES
        or (row.state == "-") == bool(row.proof)
        or (row.state != "W" and not row.note)
        or not all((ROOT / test).name.startswith("test_") for test in row.proof)
        or not all((ROOT / test).is_file() for test in row.proof)
    ]
    assert wrong == []


def test_the_table_counts_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(["--only", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    missing = [row for row in ROWS if row.state == "-"]
    assert len([line for line in lines if line.split()[0].isdigit()]) == len(missing) + 1
    assert lines[-1].startswith("192 rows: ")
    assert lines[-1].endswith(f"{len(missing)} -")


def test_a_row_without_a_test_cannot_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    number = next(row.number for row in ROWS if not row.proof)
    assert audit.main(["--run", str(number)]) == 2
    assert "no test" in capsys.readouterr().err
