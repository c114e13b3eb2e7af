"""`learn focus` and `learn cycle` as they are typed."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.session.reader import JOURNAL
from tests.support.services import GOOD, UNSURE, WRONG, hold


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_cycle_says_what_it_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.toml").write_text('[learn]\ntrain = "stt"\nminutes = 30\n')
    asked = ["learn", "cycle", "--dry-run", "--config", "own.toml"]
    assert main(asked) == 0
    weekly = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in weekly] == ["collect", "focus"]
    assert all(line.endswith("--config own.toml") for line in weekly)
    assert main([*asked, "--train"]) == 0
    monthly = capsys.readouterr().out.splitlines()
    assert monthly[:2] == weekly
    assert "learn hear --data learning --minutes 30" in monthly[2]
    assert "learn compare auto learning/stt/model --role stt" in monthly[3]
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
    told = capsys.readouterr().out
    assert "Ana is heard worst" in told
    assert "To review: " in told


@pytest.mark.slow
def test_a_cycle_does_what_is_due(capfd: pytest.CaptureFixture[str]) -> None:
    hold(Path("sessions"), [GOOD, UNSURE])
    Path("config.toml").write_text('[learn]\ntrain = "stt"\n')
    assert main(["learn", "cycle", "--train"]) == 1
    told = capfd.readouterr()
    assert "failed: stark-translate learn hear" in told.out, "there is no sound to learn from"
    assert "To review: " in told.out
    assert Path("learning/focus.json").exists()
