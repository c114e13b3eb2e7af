"""The limit of file descriptors, in a process of its own, because it is the process's."""

from __future__ import annotations

import subprocess
import sys

ASK = """
import resource, sys
from pipeline.server.transport import allow
for case in sys.argv[1:]:
    soft, hard, wanted = map(int, case.split())
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(allow(wanted), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_as_many_as_needed_and_some_to_spare() -> None:
    # The hard limit never rises from one to the next: a user who is not root could not raise it.
    expected = {
        "256 4096 1500": "1500 1628 4096",  # raised as far as needed
        "2048 4096 1500": "1500 2048 4096",  # never lowered
        "256 1024 1500": "896 1024 1024",  # as far as this process may
        "128 128 1500": "64 128 128",  # half of little
    }
    command = [sys.executable, "-c", ASK, *expected]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert dict(zip(expected, done.stdout.splitlines(), strict=True)) == expected
