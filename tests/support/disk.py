"""Simulate a full disk."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.support.needs import needs_program, without


class small_disk:  # noqa: N801 - reads as a function
    """Mounts a small memory disk at `disk`; skips the test where mounting is not permitted."""

    def __init__(self, tmp_path: Path, size: str = "64k", inodes: int = 100) -> None:
        needs_program("mount", "umount")
        self._path = tmp_path / "disk"
        self._options = f"size={size},nr_inodes={inodes}"

    def __enter__(self) -> None:
        self._path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", self._options, "tmpfs", str(self._path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            without(f"may not mount a small disk: {done.stderr.strip()}")

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self._path)], check=True)


def fill_disk(path: Path) -> None:
    """Write until the disk is full."""

    def write(file: BinaryIO) -> None:
        while True:
            file.write(b"x" * 1024)

    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        write(file)
