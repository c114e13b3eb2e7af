"""The program without POSIX: each process hides from it what Windows lacks.

No test runs on Windows or macOS. `tests/support/no_posix` defines what is hidden.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HIDDEN = ROOT / "tests" / "support" / "no_posix"
GOLDEN = str(ROOT / "demo" / "golden.flac")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {"PYTHONPATH": f"{HIDDEN}{os.pathsep}{ROOT}", "XDG_DATA_HOME": str(tmp_path / "data")}
    return {**os.environ, **own, "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_what_windows_lacks_is_hidden(environment: dict[str, str]) -> None:
    code = (
        "import pipeline.core.files as f, pipeline.engines.process.joining as j; "
        "import pipeline.daemon.life.signals as s; "
        "print(f.fcntl, j._INHERITS, j._WAITING.__name__, s.HANGUP)"
    )
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["None", "False", "SelectSelector", "None"]


def test_a_recording_is_captioned_and_everything_else_checked(
    environment: dict[str, str], tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "pipeline"]
    for command in (
        ["check", "--input", GOLDEN, "--port", "0", "--seconds", "1"],
        ["run", "--input", GOLDEN, "--pace", "fast", "--port", "0"],
    ):
        done = subprocess.run(
            [*program, *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    (session,) = (tmp_path / "sessions").glob("2*")
    shown = (session / "transcript.es.txt").read_text("utf-8")
    assert re.fullmatch(r"El Señor te guardará de tod[oa] mal\.\n", shown)


def test_ctrl_c_ends_it_and_its_engines(environment: dict[str, str], tmp_path: Path) -> None:
    recording = str(ROOT / "demo" / "sermon.flac")
    command = [sys.executable, "-m", "pipeline", "run", "--input", recording, "--port", "0"]
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=log)
        try:
            give_up_s = time.monotonic() + 120
            while b'"event":"ready"' not in (tmp_path / "log").read_bytes():
                assert running.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < give_up_s, (tmp_path / "log").read_text()
                time.sleep(0.1)
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 0, (tmp_path / "log").read_text()
        finally:
            running.kill()
            running.wait()
    # Nothing was said yet: only a clean end removes such a session.
    assert b'"event":"session removed"' in (tmp_path / "log").read_bytes()
