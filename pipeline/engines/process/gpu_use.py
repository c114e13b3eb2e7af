"""The GPU use of an engine's process, from nvidia-smi."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

_PATIENCE_S = 10.0
_WATCH_S, _WATCH_PATIENCE_S = 10.0, 2.0
"""Seconds between two queries of a watch, and the timeout of a query: during a query the keeper
does not notice its process's death.
"""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One process's memory on its GPUs, and the load of the busiest of them by all processes."""

    memory_bytes: int
    busy: float | None
    """Share of the last moment in which the GPU was busy, 0..1; None if unknown."""


def query(*arguments: str, patience_s: float = _PATIENCE_S) -> str:
    """Return the output of `nvidia-smi` for a query, "" if there is no GPU or no answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the path is found, the arguments are ours
            [program, *arguments, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""  # installed, but without a GPU or driver; or it hangs with the GPU
    return done.stdout


def gpu_use(pid: int, *, patience_s: float = _PATIENCE_S) -> GpuUse | None:
    """Return the GPU use of the process `pid`, None if it uses no GPU or that is unknown.

    In a container the driver may number processes differently; then the use is unknown.
    """
    held: dict[str, int] = {}
    for row in _rows("--query-compute-apps=pid,gpu_uuid,used_gpu_memory", patience_s):
        with suppress(ValueError):  # "[N/A]", or another number of columns
            owner, gpu, mib = row
            if int(owner) == pid:
                held[gpu] = int(mib) << 20
    if not held:
        return None
    shares: dict[str, float] = {}
    # Only for a process on a GPU: each query starts a program.
    for row in _rows("--query-gpu=uuid,utilization.gpu", patience_s):
        with suppress(ValueError):
            gpu, percent = row
            shares[gpu] = int(percent) / 100
    # A process may use several GPUs: the busiest one slows it down.
    busy = max((shares[gpu] for gpu in held if gpu in shares), default=None)
    return GpuUse(sum(held.values()), busy)


def _rows(question: str, patience_s: float) -> Iterator[list[str]]:
    """Yield the columns of each line of an answer."""
    for line in query(question, patience_s=patience_s).splitlines():
        yield [each.strip() for each in line.split(",")]


class GpuWatch:
    """Queries a process's GPU use from time to time. For one thread; any may read `use`."""

    use: GpuUse | None = None
    """The use at the last query, None without a GPU or if it is unknown."""
    _next_s = 0.0

    def look(self, pid: int) -> None:
        """Query the use, if that is due."""
        if time.monotonic() >= self._next_s:
            self.use = gpu_use(pid, patience_s=_WATCH_PATIENCE_S)
            # Counted from the answer: after a slow answer, the next query must not be due at once.
            self._next_s = time.monotonic() + _WATCH_S

    def forget(self) -> None:
        """Reset the watch: the process has ended."""
        self.use, self._next_s = None, 0.0
