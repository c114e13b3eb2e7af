"""Runs the real program in its own process and talks to it as displays and people do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import psutil

from scripts.support.paths import ROOT

_PATIENCE_S = 180.0
"""The longest that a busy machine may take for an event that a test waits for."""

SERMON = ROOT / "demo" / "sermon.flac"


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment without the program's settings, plus `more`."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("STARK_TRANSLATE__")}
    return own | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"} | more


def call(
    *arguments: str, cwd: Path, timeout_s: float = _PATIENCE_S, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        cwd=cwd,
        env=environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


class Program:
    """A running `stark-translate`. `log` holds the JSON lines it has written to standard error."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []
        self.noise: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.log.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                self.noise.append(line.decode())

    def wait_for(self, event: str, timeout_s: float = _PATIENCE_S) -> dict[str, Any]:
        """Return the first log line of this event."""
        lines: list[dict[str, Any]] = self.until(
            lambda: [line for line in self.log if line.get("event") == event], timeout_s, event
        )
        return lines[0]

    def until(
        self, find: Callable[[], Any], timeout_s: float = _PATIENCE_S, what: str = "it"
    ) -> Any:
        """Return the first true result of `find`."""
        deadline = time.monotonic() + timeout_s
        while not (found := find()):
            assert time.monotonic() < deadline, f"no {what} after {timeout_s} s: {self.log[-3:]}"
            assert self.process.poll() is None or find(), f"ended: {self.log[-3:]} {self.noise}"
            time.sleep(0.02)
        return found

    @property
    def _serving(self) -> dict[str, Any]:
        """The newest log line: after it gives up a recognizer, the program serves again."""
        self.wait_for("serving")
        return [line for line in self.log if line.get("event") == "serving"][-1]

    @property
    def address(self) -> str:
        """The address of the pages, without the last slash."""
        address: str = self._serving["address"]
        return address.rstrip("/")

    @property
    def folder(self) -> Path:
        """Return the session's folder."""
        return Path(self._serving["session"])

    def socket(self, query: str = "") -> str:
        """Return the address of the websocket."""
        return self.address.replace("http", "ws", 1) + "/ws" + query

    def health(self) -> dict[str, Any]:
        """Return the content of /healthz, whatever its status."""
        try:
            with urllib.request.urlopen(f"{self.address}/healthz", timeout=10) as answer:
                body = answer.read()
        except urllib.error.HTTPError as unwell:
            with unwell:
                body = unwell.read()
        told: dict[str, Any] = orjson.loads(body)
        return told

    @property
    def processes(self) -> list[psutil.Process]:
        """Return its processes: the program's own and those of its engines. Raises psutil.Error."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    @property
    def cpu_s(self) -> float:
        """Return the CPU seconds that it and its engines have used so far."""
        times = [each.cpu_times() for each in self.processes]
        return float(sum(each.user + each.system for each in times))

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = _PATIENCE_S) -> int:
        """Send a signal and wait for the end; return the exit code."""
        self.process.send_signal(number)
        return self.end(timeout_s)

    def end(self, timeout_s: float = _PATIENCE_S) -> int:
        """Wait for the end; return the exit code."""
        try:
            return self.process.wait(timeout_s)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._reader.join(10)

    def journal(self, lang: str = "") -> list[dict[str, Any]]:
        """Return the captions written so far; `lang` names a further language."""
        return self._lines(f"captions.{lang}.jsonl" if lang else "captions.jsonl")

    def records(self, kind: str = "utterance") -> list[dict[str, Any]]:
        """Return the records of a kind written so far."""
        return [record for record in self._lines("diagnostics.jsonl") if record["type"] == kind]

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """Return the whole lines of a file that the program may be writing."""
        lines = (self.folder / name).read_bytes().split(b"\n")[:-1]
        return [orjson.loads(line) for line in lines]


@contextmanager
def started(*arguments: str, cwd: Path, **env: str) -> Iterator[Program]:
    """Start a serving command on a free port; kill its remaining processes at the end."""
    with started_module("pipeline", *arguments, "--port", "0", cwd=cwd, **env) as program:
        yield program


@contextmanager
def started_module(module: str, *arguments: str, cwd: Path, **env: str) -> Iterator[Program]:
    """Start a module that serves as the program does; kill its remaining processes at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=cwd, env=environment(**env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    program = Program(process)
    try:
        yield program
    finally:
        if process.poll() is None:
            process.kill()
        program.end()
        assert process.stderr is not None
        process.stderr.close()
