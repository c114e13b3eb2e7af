"""The commands `learn collect`, `mix`, `remove`, `focus` and `cycle`."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.learning.data.folder import DataFolder
from pipeline.session.reader import JOURNAL
from tests.support.cli import Cli
from tests.support.services import GOOD, NAME, UNSURE, WRONG, hold

PLACES = ("--sessions", "sessions", "--data", "learning")


@pytest.fixture(autouse=True)
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return hold(tmp_path / "sessions", [GOOD, UNSURE, WRONG])


@pytest.mark.slow
def test_a_service_is_collected_once_and_taken_out(cli: Cli) -> None:
    assert "Nothing is written" in cli("learn collect --dry-run", *PLACES).out
    assert not Path("learning").exists()
    output = cli("learn collect", *PLACES).out
    assert "1 sessions read, 0 unchanged, 1 in all." in output
    assert "1, 1 accepted" in output
    assert [pair.text for pair in DataFolder(Path("learning")).pairs()] == [GOOD.source]
    assert "0 sessions read, 1 unchanged" in cli("learn collect", NAME, *PLACES).out
    assert "is taken out" in cli("learn remove", NAME, "--data", "learning").out
    assert DataFolder(Path("learning")).pairs() == []


def test_mix_says_what_is_in_it_and_what_is_lacking(cli: Cli) -> None:
    main(["learn", "collect", *PLACES])
    command = ["learn", "mix", "--data", "learning", "--own-only", "--pairs", "10"]
    output = cli(*command, "--general-pairs", "0").out
    assert "sermon" in output
    assert "7 pairs of bible are lacking" in output
    count = len(Path("learning/mix/train.jsonl").read_text().splitlines())
    assert f"{count} pairs: " in output
    assert "that are not general: " in output


def test_a_cycle_says_what_it_would_run(cli: Cli) -> None:
    Path("own.toml").write_text('[learn]\ntrain = "stt"\nminutes = 30\n')
    command = ["learn", "cycle", "--dry-run", "--config", "own.toml"]
    weekly = cli(*command).out.splitlines()
    assert [line.split()[2] for line in weekly] == ["collect", "focus"]
    assert all(line.endswith("--config own.toml") for line in weekly)
    monthly = cli(*command, "--train").out.splitlines()
    assert monthly[:2] == weekly
    assert "learn hear --data learning --minutes 30" in monthly[2]
    assert "learn compare starter learning/stt/model --role stt" in monthly[3]
    assert not Path("learning").exists()


def test_a_cycle_waits_for_a_service(cli: Cli) -> None:
    journal = hold(Path("sessions"), [GOOD]) / JOURNAL
    with journal.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "nothing is done" in cli("learn cycle --if-quiet").out
        assert "[service-running]" in cli("learn cycle", code=1).err


def test_the_focus_is_told(cli: Cli) -> None:
    hold(Path("sessions"), [GOOD, UNSURE, WRONG])
    cli("learn collect --speaker Ana")
    output = cli("learn focus").out
    assert "Ana is heard worst" in output
    assert "To review: " in output


@pytest.mark.slow
def test_a_cycle_does_what_is_due(capfd: pytest.CaptureFixture[str]) -> None:
    hold(Path("sessions"), [GOOD, UNSURE])
    assert main(["learn", "cycle"]) == 0
    assert "To review: " in capfd.readouterr().out
    assert Path("learning/focus.json").exists()
