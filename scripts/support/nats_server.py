"""A real nats-server with JetStream on a free port, which can be killed and started again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Self


def installed() -> str | None:
    """Return the program's path; Debian installs it where only root's PATH looks."""
    return shutil.which("nats-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class NatsServer:
    """A context manager that runs the server; `stop` and `start` keep port and store."""

    def __init__(self, folder: Path, *, config: str = "", most_bytes: int = 0) -> None:
        """`config`: more lines of its configuration. `most_bytes`: storage limit, 0 for enough."""
        self._folder = folder
        self._room = f", max_file_store: {most_bytes}" if most_bytes else ""
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        """Its address."""
        return f"nats://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / "nats.conf"
        file.write_text(
            f'jetstream {{ store_dir: "{self._folder / "store"}"{self._room} }}\n{self._config}'
        )
        program = installed()
        assert program, "nats-server is not installed"
        command = [program, "-a", "127.0.0.1", "-p", str(self.port), "-c", str(file)]
        with (self._folder / "nats.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until_s = time.monotonic() + 30
        while time.monotonic() < until_s:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError((self._folder / "nats.log").read_text())

    def stop(self) -> None:
        """Kill it, as a power cut would."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stored(self) -> bytes:
        """Return every byte of its store, to test that something is not in it."""
        while True:
            # A purge replaces folders and files while they are read.
            with suppress(FileNotFoundError):
                files = sorted((self._folder / "store").rglob("*"))
                return b"".join(file.read_bytes() for file in files if file.is_file())


def free_port() -> int:
    """Return a port that nobody uses at this moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
