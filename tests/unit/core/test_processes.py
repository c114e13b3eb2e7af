"""This program's own processes."""

from __future__ import annotations

import os
import subprocess

import psutil
import pytest

from pipeline.core.processes import APART, lower_priority, own_environment, own_python


@pytest.mark.slow
def test_a_process_of_its_own_runs_this_package_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "1")
    assert "WATCHDOG_USEC" not in own_environment()
    command = own_python("tests.unit.core.test_processes", "word")
    done = subprocess.run(
        command, env=own_environment(), capture_output=True, text=True, check=True, **APART
    )
    number, group, niceness = map(int, done.stdout.split())
    assert number == group, "not the terminal's"
    assert niceness == psutil.Process().nice() + 3


def main() -> None:
    """Print what this process is; the test above runs it in a separate process."""
    lower_priority(0)
    lower_priority(3)
    print(os.getpid(), os.getpgid(0), psutil.Process().nice())
