"""Starts that fail, are stopped or killed change nothing that a later start needs."""

from __future__ import annotations

import signal
import socket
import urllib.request
from pathlib import Path

import numpy as np
import orjson
import psutil
import pytest

from pipeline.cli.main import main
from scripts.support.program import SERMON, started
from tests.support.sounds import wav

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
NAME = "Bonhoeffer"
SERMON_RUN = ("run", "--input", str(SERMON))
QUIET_RUN = ("run", "--input", "quiet.wav")
TINY = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny"}
LIGHT = {"STARK_TRANSLATE__TRANSLATE__FINAL__ENGINE": "marian"}
"""Without speech no final translator is needed."""


@pytest.fixture
def church(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a quiet recording and with notes for the next service."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sermon.txt").write_text(f"A sermon on {NAME}. {NAME} wrote letters.")
    assert main(["notes", "add", "sermon.txt"]) == 0
    wav(tmp_path / "quiet.wav", np.zeros(2 * 16_000))
    return tmp_path


def folders(church: Path) -> list[str]:
    return [path.name for path in (church / "sessions").iterdir() if path.is_dir()]


def fails(capsys: pytest.CaptureFixture[str], code: str, *arguments: str) -> None:
    assert main(list(arguments)) == 1
    assert f"[{code}" in capsys.readouterr().err


def knows_the_notes(capsys: pytest.CaptureFixture[str]) -> bool:
    assert main(["notes", "show"]) == 0
    return NAME in capsys.readouterr().out


def test_starts_that_come_to_nothing_leave_no_session_and_take_no_notes(
    church: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A killed service continues after a failed start: it is not a past service."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        fails(capsys, "port-in-use", *QUIET_RUN, "--port", port)
        fails(capsys, "audio-", "run", "--device", "no such thing", "--port", "0")
        assert folders(church) == []
        with started(*QUIET_RUN, cwd=church, **LIGHT) as program:
            program.wait_for("serving")
            assert program.stop(signal.SIGTERM) == 0
        assert folders(church) == [], "nothing was said, and nothing is kept"
        assert knows_the_notes(capsys)

        # Nobody speaks; then the program is killed.
        with started(*QUIET_RUN, cwd=church, **LIGHT) as program:
            assert program.wait_for("notes")["names"] == 1
            assert program.end() == 0
        with started(*QUIET_RUN, cwd=church, **LIGHT) as program:
            program.wait_for("ready")
            program.process.kill()
            program.end()

        with started(*SERMON_RUN, cwd=church, **TINY) as program:
            assert program.wait_for("notes")["names"] == 1
            folder = program.folder
            program.until(lambda: program.records("utterance"))
            children = psutil.Process(program.process.pid).children(recursive=True)
            assert len(children) == 3
            children[0].suspend()
            program.process.kill()
            program.end()
        _, alive = psutil.wait_procs(children, 60)
        assert not alive, "of a daemon that is killed no process is left"
        fails(capsys, "port-in-use", *SERMON_RUN, "--port", port)
    everyone = TINY | {"STARK_TRANSLATE__SERVER__PAST_SERVICES": "everyone"}
    with started(*SERMON_RUN, cwd=church, **everyone) as program:
        program.wait_for("ready")
        assert program.folder == folder
        with urllib.request.urlopen(f"{program.address}/past", timeout=10) as answer:
            assert orjson.loads(answer.read())["services"] == []
        assert program.stop() == 0
