"""`replay` as a process of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from pipeline.cli.main import main
from scripts.support.journal import message, session
from scripts.support.program import started


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    session(tmp_path / "sessions", [message(1, "one", "uno", start_s=5.0, end_s=6.0)])
    with started("replay", "last", "--speed", "100", cwd=tmp_path) as program:
        program.until(lambda: [e for e in program.log if e.get("state") == "ended"])
        assert [e["id"] for e in program.log if e["event"] == "caption"] == [1]
        assert program.stop(number) == 0
        assert program.noise == []


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "fast", "1e9"])
def test_a_speed_that_cannot_be_is_wrong_usage(
    speed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", "last", "--speed", speed])
    assert ended.value.code == 2
    assert "is not a number above 0" in capsys.readouterr().err


def test_a_missing_session_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "last", "--sessions", str(tmp_path)]) == 1
    assert "[session-missing]" in capsys.readouterr().err
