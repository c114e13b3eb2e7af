"""A relay in its own process, started by its command."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from typing import IO, Self, cast

import psutil

from scripts.support.paths import ROOT


class RelayProcess:
    """A context manager that runs a relay on `port`."""

    def __init__(self, url: str, most: int) -> None:
        """`most`: most displays at a time."""
        self._command = [sys.executable, "-m", "pipeline", "relay", "--nats", url, "--port", "0"]
        self._command += ["--max-clients", str(most)]
        self._process: subprocess.Popen[str]
        self.port = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        log = cast("IO[str]", self._process.stderr)
        for line in log:
            if found := re.search(r"http://[\d.]+:(\d+)/", line):
                self.port = int(found[1])
                break
        else:
            raise SystemExit(f"The relay ended with code {self._process.wait()}.")
        self._reader = threading.Thread(target=log.read)  # a full pipe would stop it
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._reader.join()
        cast("IO[str]", self._process.stderr).close()

    @property
    def pid(self) -> int:
        """Process id of the relay."""
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        """CPU time that the relay has used, seconds."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)
