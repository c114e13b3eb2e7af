"""The limit of file descriptors, in a process of its own, because it is the process's."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = """
import resource, sys
from pipeline.server.descriptors import allow
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(allow(int(sys.argv[3])), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "expected"),
    [
        (256, 4096, 1500, (1500, 1628, 4096)),  # raised as far as needed
        (256, 1024, 1500, (896, 1024, 1024)),  # as far as this process may
        (128, 128, 1500, (64, 128, 128)),  # half of little
        (2048, 4096, 1500, (1500, 2048, 4096)),  # never lowered
    ],
)
def test_as_many_as_needed_and_some_to_spare(
    soft: int, hard: int, wanted: int, expected: tuple[int, int, int]
) -> None:
    command = [sys.executable, "-c", ASK, *map(str, (soft, hard, wanted))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert tuple(map(int, done.stdout.split())) == expected
