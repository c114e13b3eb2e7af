"""Starts that fail, are stopped or killed: they change nothing that a later start needs."""

from __future__ import annotations

import signal
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import orjson
import pytest

from scripts.support.program import SERMON, call, started
from tests.support.sounds import wav

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NAME = "Bonhoeffer"


@pytest.fixture
def church(tmp_path: Path) -> Path:
    """Return a folder with a quiet recording, in which notes wait for the next service."""
    (tmp_path / "sermon.txt").write_text(f"A sermon on {NAME}. {NAME} wrote letters.")
    assert call("notes", "add", "sermon.txt", cwd=tmp_path).returncode == 0
    wav(tmp_path / "quiet.wav", np.zeros(4 * 16_000))
    return tmp_path


def folders(church: Path) -> list[str]:
    return [path.name for path in (church / "sessions").iterdir() if path.is_dir()]


def knows_the_notes(church: Path) -> bool:
    return NAME in call("notes", "show", cwd=church).stdout


@contextmanager
def taken_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield str(taken.getsockname()[1])


def test_a_service_that_is_started_twice_before_anybody_speaks_keeps_its_notes(
    church: Path,
) -> None:
    for _ in range(2):
        with started("run", "--input", "quiet.wav", cwd=church) as program:
            assert program.wait_for("notes")["names"] == 1
            assert program.end() == 0
    with started("run", "--input", "quiet.wav", cwd=church) as program:
        program.wait_for("ready", 120)
        program.process.kill()
        program.end()
    with started("run", "--input", "quiet.wav", cwd=church) as program:
        assert program.wait_for("notes")["names"] == 1
        program.wait_for("ready", 120)
        assert program.stop() == 0
    assert knows_the_notes(church)


def test_starts_that_fail_leave_no_session_and_take_no_notes(church: Path) -> None:
    run = ("run", "--input", "quiet.wav")
    with taken_port() as port:
        done = call(*run, "--port", port, cwd=church)
    assert (done.returncode, "[port-in-use]" in done.stderr) == (1, True), done.stderr
    done = call("run", "--device", "no such thing", "--port", "0", cwd=church)
    assert (done.returncode, "[audio-" in done.stderr) == (1, True), done.stderr
    assert folders(church) == []
    with started(*run, cwd=church) as program:
        program.wait_for("serving")
        assert program.stop(signal.SIGTERM) == 0
        is_ready = any(line["event"] == "ready" for line in program.log)
    assert bool(folders(church)) == is_ready
    assert knows_the_notes(church)


def test_a_crashed_session_goes_on_after_a_start_that_failed_and_is_no_past_service(
    tmp_path: Path,
) -> None:
    run = ("run", "--input", str(SERMON))
    with started(*run, cwd=tmp_path) as program:
        folder = program.folder
        program.until(lambda: program.records("utterance"), 90)
        program.process.kill()
        program.end()
    with taken_port() as port:
        assert call(*run, "--port", port, cwd=tmp_path).returncode == 1
    everyone = {"STARK_TRANSLATE__SERVER__PAST_SERVICES": "everyone"}
    with started(*run, cwd=tmp_path, **everyone) as program:
        program.wait_for("ready")
        assert program.folder == folder
        with urllib.request.urlopen(f"{program.address}/past", timeout=10) as answer:
            assert orjson.loads(answer.read())["services"] == []
        assert program.stop() == 0
