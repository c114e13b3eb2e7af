"""The commands `learn collect`, `mix`, `remove`, `focus` and `cycle`."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.learning.data.folder import DataFolder
from pipeline.session.reader import JOURNAL
from tests.support.services import GOOD, NAME, UNSURE, WRONG, hold

PLACES = ("--sessions", "sessions", "--data", "learning")


@pytest.fixture(autouse=True)
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return hold(tmp_path / "sessions", [GOOD, UNSURE, WRONG])


@pytest.mark.slow
def test_a_service_is_collected_once_and_taken_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "collect", "--dry-run", *PLACES]) == 0
    assert "Nothing is written" in capsys.readouterr().out
    assert not Path("learning").exists()
    assert main(["learn", "collect", *PLACES]) == 0
    output = capsys.readouterr().out
    assert "1 sessions read, 0 unchanged, 1 in all." in output
    assert "1, 1 accepted" in output
    assert [pair.text for pair in DataFolder(Path("learning")).pairs()] == [GOOD.source]
    assert main(["learn", "collect", NAME, *PLACES]) == 0
    assert "0 sessions read, 1 unchanged" in capsys.readouterr().out
    assert main(["learn", "remove", NAME, "--data", "learning"]) == 0
    assert "is taken out" in capsys.readouterr().out
    assert DataFolder(Path("learning")).pairs() == []


def test_mix_says_what_is_in_it_and_what_is_lacking(capsys: pytest.CaptureFixture[str]) -> None:
    main(["learn", "collect", *PLACES])
    command = ["learn", "mix", "--data", "learning", "--own-only", "--pairs", "10"]
    assert main([*command, "--general-pairs", "0"]) == 0
    output = capsys.readouterr().out
    assert "sermon" in output
    assert "7 pairs of bible are lacking" in output
    count = len(Path("learning/mix/train.jsonl").read_text().splitlines())
    assert f"{count} pairs: " in output
    assert "that are not general: " in output


def test_a_cycle_says_what_it_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.toml").write_text('[learn]\ntrain = "stt"\nminutes = 30\n')
    command = ["learn", "cycle", "--dry-run", "--config", "own.toml"]
    assert main(command) == 0
    weekly = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in weekly] == ["collect", "focus"]
    assert all(line.endswith("--config own.toml") for line in weekly)
    assert main([*command, "--train"]) == 0
    monthly = capsys.readouterr().out.splitlines()
    assert monthly[:2] == weekly
    assert "learn hear --data learning --minutes 30" in monthly[2]
    assert "learn compare starter learning/stt/model --role stt" in monthly[3]
    assert not Path("learning").exists()


def test_a_cycle_waits_for_a_service(capsys: pytest.CaptureFixture[str]) -> None:
    journal = hold(Path("sessions"), [GOOD]) / JOURNAL
    with journal.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(["learn", "cycle", "--if-quiet"]) == 0
        assert "nothing is done" in capsys.readouterr().out
        assert main(["learn", "cycle"]) == 1
        assert "[service-running]" in capsys.readouterr().err


def test_the_focus_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    hold(Path("sessions"), [GOOD, UNSURE, WRONG])
    assert main(["learn", "collect", "--speaker", "Ana"]) == 0
    capsys.readouterr()
    assert main(["learn", "focus"]) == 0
    output = capsys.readouterr().out
    assert "Ana is heard worst" in output
    assert "To review: " in output


@pytest.mark.slow
def test_a_cycle_does_what_is_due(capfd: pytest.CaptureFixture[str]) -> None:
    hold(Path("sessions"), [GOOD, UNSURE])
    assert main(["learn", "cycle"]) == 0
    assert "To review: " in capfd.readouterr().out
    assert Path("learning/focus.json").exists()
