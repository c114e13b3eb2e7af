"""One child process from the parent's side: start, output, kill, and the cause of its death."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import psutil
import structlog

from pipeline.core.errors import NO_MEMORY
from pipeline.core.processes import own_environment, own_python
from pipeline.engines.process import joining
from pipeline.engines.process.channel import Channel, Patience
from pipeline.engines.process.child import LOG_MARK, OUT_OF_MEMORY
from pipeline.engines.process.deaths import OUT_OF_MEMORY_CODE, Cause, explained
from pipeline.engines.process.memory import address_limit
from pipeline.engines.specification import EngineSpec, Part

log = structlog.get_logger()

_VARIABLES = {
    # OpenMP threads that wait for each other spin some 50 us, then sleep. The default is
    # milliseconds, which suits a dedicated machine. If another program needs a core, two threads
    # of the final translator then made captions eight times later (docs/decisions/018).
    "GOMP_SPINCOUNT": "1000",
    # Where gdb is installed, a llama.cpp that aborts lets it print every stack first: this delays
    # the new process by seconds (13 were seen), and hides the assertion that failed.
    "GGML_NO_BACKTRACE": "1",
}
# Python's traceback of a crash comes last: these lines must still hold the library's words.
_LAST_LINES = 40
_LATE_LINES = 8
"""A memory error before these last lines did not end the process."""
_LONGEST_LINE = 65_536
# Part of one sentence for the operator.
_LONGEST_REASON = 200
_END_S = 1.0
"""Seconds that a child may take to exit after it has read the end."""
_DEATH_S = 5.0
"""A killed process is gone by then, or hangs in the kernel: a GPU driver may hold it forever."""

_KILLED = -9  # SIGKILL, which does not exist on Windows
_WINDOWS_FAULT = 0xC0000000
"""Exit codes from here on are Windows's own, such as 0xC0000005 for an access violation."""


def own_log_level() -> int:
    """Return the lowest level of this program's own log lines that are kept."""
    return logging.getLogger("pipeline").getEffectiveLevel()


class ChildProcess:
    """A process for one engine. The keeper's thread starts, pumps and ends it.

    A user of `channel` must hold `lock`. Raises OSError if no process can be started.
    """

    def __init__(self, engine: EngineSpec, part: Part) -> None:
        self.lock = threading.Lock()
        self._engine = engine
        self._part = part.key
        self._cause: Cause | None = None
        self._killed_s: float | None = None
        self._rest = b""
        self._last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._addresses: int | None = None
        # Counted before the start: only a later kill can be of this process.
        self._oom_kills = _oom_kills()
        command = own_python(
            "pipeline.engines.process.child", str(os.getpid()), f"stark-{part.key}"
        )
        # The right side wins: a GOMP_SPINCOUNT from the environment is kept.
        self._process, ours, self._output = joining.start(command, _VARIABLES | own_environment())
        self.channel = Channel(ours)
        self._description = {
            "engine": engine.as_json(),
            "niceness": part.niceness,
            "oom_score_adj": part.oom_score_adj,
            "log_level": own_log_level(),
        }
        self.gpu_layers: int | None = None
        """How many layers are on a GPU, -1 for all; None until the model is loaded."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def describe(self) -> None:
        """Send the child its engine's description. Raises what a channel raises."""
        self.channel.send(self._description, patience=Patience())

    def pump(self, timeout_s: float, *, answers: bool = False) -> bool:
        """Wait for output and forward log lines; return False once the child is dead.

        With `answers`, a message in the channel ends the wait too.
        """
        output = self._output.fileno()
        asked = (output, self.channel.fileno()) if answers else (output,)
        ready = joining.readable(timeout_s, *asked)
        # Each time: the kernel reports the limit only until the dead process is reaped.
        self._addresses = address_limit(self.pid) or self._addresses
        if output in ready:
            piece = self._output.read(_LONGEST_LINE)
            # The output ends only when every process that holds it has ended.
            if not piece:
                return False
            self._take(piece)
        return True

    def kill(self, cause: Cause) -> None:
        """Kill the process; any thread may call it. The first cause counts."""
        # Set before the kill: the keeper may see the end at once and read the cause.
        self._cause = self._cause or cause
        self._killed_s = self._killed_s or time.monotonic()
        self._process.kill()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or never will, even if its output is still open."""
        if self._process.poll() is not None:
            return True
        return self._killed_s is not None and time.monotonic() - self._killed_s > _DEATH_S

    def memory_bytes(self) -> int:
        """Return its memory use, 0 if it is gone or no file descriptor is left."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except (psutil.Error, OSError):  # OSError: many displays may use all descriptors
            return 0

    def cpu_s(self) -> float:
        """Return its CPU time, 0.0 if that cannot be read."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except (psutil.Error, OSError):
            return 0.0
        return float(times.user + times.system)

    def end(self) -> Cause:
        """End the process if it is alive, free its resources, and return the cause of its end.

        A process that hangs in the kernel is left behind.
        """
        self.channel.end()
        status = self._await_end()
        # Its last output is still in the pipe, and may hold the reason.
        with suppress(OSError):
            while joining.readable(0, self._output.fileno()):
                if not self.pump(0):
                    break
        # A thread inside a call reads the end first; only then may the descriptor be reused.
        with self.lock:
            self.channel.close()
        self._output.close()
        if status is None:
            killed = self._cause or Cause("engine-hangs", "did not end")
            return Cause(killed.code, f"{killed.words}, and hangs in the system")
        # The keeper sets `gpu_layers` when the model is loaded.
        loading = self.gpu_layers is None
        return self._cause or explained(
            self._explain(status), self._engine, self._addresses, loading=loading
        )

    def _await_end(self) -> int | None:
        """Return the exit status, None if nothing ends the process."""
        for patience_s in (_END_S, _DEATH_S):
            try:
                return self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return None

    def _explain(self, status: int) -> Cause:
        said = f": {self._said}" if self._said else ""
        # A library's last line need not be the cause: MKL reports its memory error earlier.
        late = list(self._last_lines)[-_LATE_LINES:]
        lacked = next((line for line in late if NO_MEMORY.search(line)), "")
        if status == OUT_OF_MEMORY or (lacked and status != _KILLED):
            lack = f": {lacked[:_LONGEST_REASON]}" if lacked else said
            return Cause(OUT_OF_MEMORY_CODE, f"got no more memory{lack}")
        if status >= _WINDOWS_FAULT:
            return Cause("engine-crashed", f"crashed (0x{status:X}{said})")
        if status >= 0:
            return Cause("engine-crashed", f"ended with code {status}{said}")
        # `Popen` returns a signal as a negative code.
        name = _signal_name(-status)
        if status == _KILLED:
            # The signal does not show its sender; only the kernel's counter does.
            if _oom_kills() > self._oom_kills:
                return Cause(OUT_OF_MEMORY_CODE, "was killed by the system for want of memory")
            return Cause("engine-killed", f"was killed ({name})")
        return Cause("engine-crashed", f"crashed ({name}{said})")

    @property
    def _said(self) -> str:
        """The last line that a library wrote before the end."""
        # Python's own traceback of a crash comes last, and says less than the lines before it.
        lines = list(self._last_lines)
        fatal = next((i for i, line in enumerate(lines) if "Fatal Python error" in line), None)
        return next((line for line in reversed(lines[:fatal]) if line), "")[:_LONGEST_REASON]

    def _take(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        # A library that never ends its line must not fill the memory.
        self._rest = self._rest[-_LONGEST_LINE:]
        for line in lines:
            said, mark, record = line.partition(LOG_MARK)
            if said.strip():
                self._last_lines.append(said.decode(errors="replace").strip())
                log.debug("engine says", engine=self._part, line=self._last_lines[-1])
            if mark:
                self._forward(record)

    def _forward(self, record: bytes) -> None:
        try:
            facts: dict[str, Any] = orjson.loads(record)
            level, logger, event = facts.pop("level"), facts.pop("logger"), facts.pop("event")
        # Another line was mixed into this one, or a library wrote the mark.
        except (ValueError, KeyError):
            return
        structlog.get_logger(logger).log(level, event, **{**facts, "engine": self._part})


def _signal_name(number: int) -> str:
    """Return a signal's name; Python has none for most of the real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _oom_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory since boot."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
