"""The data folder: its ledger, and that two steps do not work in it at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from pipeline.core.errors import LearningError
from pipeline.learning.compare import read_comparisons
from pipeline.learning.data.folder import DataFolder, LedgerEntry
from pipeline.learning.deploy import read_deployments


def test_the_last_entry_about_a_session_holds(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "learning")
    with data.hold():
        data.enter(LedgerEntry(session="a", utc="1", counts={"accepted": 3}))
        data.enter(LedgerEntry(session="b", utc="2"))
        data.enter(LedgerEntry(session="a", utc="3", removed=True))
    ledger = data.ledger()
    assert (ledger["a"].removed, ledger["b"].removed) == (True, False)


def test_two_steps_at_once_are_refused(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    with data.hold(), pytest.raises(LearningError) as told, DataFolder(tmp_path).hold():
        pass
    assert told.value.code == "learning-busy"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LearningError) as told, DataFolder(tmp_path / "file").hold():
        pass
    assert told.value.code == "learning-unwritable"


def test_a_torn_last_line_of_the_ledger_is_left_out(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.enter(LedgerEntry(session="a", utc="1"))
    with (tmp_path / "ledger.jsonl").open("ab") as file:
        file.write(b'{"session":"b"')
    assert list(data.ledger()) == ["a"]
    data.enter(LedgerEntry(session="c", utc="2"))
    assert list(data.ledger()) == ["a", "c"]


def test_a_damaged_line_is_named_with_one_code_for_all_ledgers(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    for name, read in (
        ("ledger.jsonl", data.ledger),
        ("comparisons.jsonl", partial(read_comparisons, data)),
        ("deployed.jsonl", partial(read_deployments, data)),
    ):
        (tmp_path / name).write_text('{"utc": 1}\n{}\n')
        with pytest.raises(LearningError, match=f"{name}, line 1") as told:
            read()
        assert told.value.code == "learning-unreadable"
