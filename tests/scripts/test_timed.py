"""What `make` prints about a long step."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TIMED = str(ROOT / "scripts" / "timed.sh")


def timed(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TIMED, "Making tea.", *command],
        capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": "/usr/bin:/bin", **environment},
    )  # fmt: skip


def test_a_step_says_what_it_does_and_how_long_that_took() -> None:
    done = timed("echo", "a b", "c")
    assert done.returncode == 0
    first, own, last = done.stdout.splitlines()
    assert (first, own) == ("Making tea.", "a b c")
    assert last.startswith("  done in ")
    assert last.endswith(" s")


def test_one_that_fails_says_so_and_make_stops() -> None:
    done = timed("sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "failed after" in done.stdout.splitlines()[-1]


def test_one_that_goes_on_is_heard_of_meanwhile() -> None:
    done = timed("sleep", "0.5", TIMED_EVERY_S="0.2")
    assert any(line.startswith("  still at it after ") for line in done.stdout.splitlines())


@pytest.mark.parametrize(("stop", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_one_that_is_stopped_leaves_nothing_behind(
    tmp_path: Path, stop: signal.Signals, status: int
) -> None:
    # A shell's background job ignores SIGINT, and so would the processes that it starts.
    process = subprocess.Popen(
        ["env", "--default-signal=INT", TIMED, "Making tea.",
         "sh", "-c", f"echo on > {tmp_path}/on; exec sleep 0.3"],
        stdout=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    while not (tmp_path / "on").exists():
        time.sleep(0.01)
    process.send_signal(stop)
    output, _ = process.communicate(timeout=20)  # ends only when no process holds the pipe
    assert process.returncode == status
    assert "still at it" not in output
