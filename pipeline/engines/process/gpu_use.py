"""What an engine's process takes of a GPU, as nvidia-smi tells it."""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass

_PATIENCE_S = 10.0
_WATCH_S, _WATCH_PATIENCE_S = 10.0, 2.0
"""How often a watch looks, and how long an answer may take: meanwhile the keeper that looks would
not notice its process's death.
"""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What one process holds of its GPUs, and how busy the busiest of them is with all of them."""

    memory_bytes: int
    busy: float | None
    """Share of the last moment in which the GPU was at work, 0..1; None if it does not tell."""


def query(*arguments: str, patience_s: float = _PATIENCE_S) -> str:
    """Return the lines of `nvidia-smi` for a query, "" where there is no GPU or no answer."""
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
        return ""  # installed, and without a GPU or its driver; or it hangs with the GPU
    return done.stdout


def gpu_use(pid: int, *, patience_s: float = _PATIENCE_S) -> GpuUse | None:
    """Return what the process `pid` takes of a GPU, None if it is on none or nobody can tell.

    In a container the driver may count processes in another way; then nothing is known.
    """
    listed = query("--query-compute-apps=pid,gpu_uuid,used_gpu_memory", patience_s=patience_s)
    held = parse_processes(listed).get(pid)
    if not held:
        return None
    # Only of a process that is on one: each question starts a program.
    asked = query("--query-gpu=uuid,utilization.gpu", patience_s=patience_s)
    shares = parse_shares(asked)
    # A process may be on several GPUs: the busiest is the one that holds it up.
    busy = max((shares[gpu] for gpu in held if gpu in shares), default=None)
    return GpuUse(sum(held.values()), busy)


class GpuWatch:
    """Looks now and then what a process takes of a GPU. For one thread; any may read `use`."""

    use: GpuUse | None = None
    """As it was at the last look, None on no GPU or if nobody can tell."""
    _next_s = 0.0

    def look(self, pid: int) -> None:
        """Look, if that is due."""
        if time.monotonic() >= self._next_s:
            self.use = gpu_use(pid, patience_s=_WATCH_PATIENCE_S)
            # Counted from the answer: a slow one must not make the next question due at once.
            self._next_s = time.monotonic() + _WATCH_S

    def forget(self) -> None:
        """Begin anew: the process has ended."""
        self.use, self._next_s = None, 0.0


def parse_processes(listed: str) -> dict[int, dict[str, int]]:
    """Return bytes by process and GPU from lines `pid, uuid, MiB`; others are left out."""
    found: dict[int, dict[str, int]] = {}
    for line in listed.splitlines():
        # ValueError also comes of a line that has not three columns.
        with suppress(ValueError):  # "[N/A]"
            pid, gpu, mib = (each.strip() for each in line.split(","))
            found.setdefault(int(pid), {})[gpu] = int(mib) << 20
    return found


def parse_shares(listed: str) -> dict[str, float]:
    """Return each GPU's share of busy time from lines `uuid, percent`; others are left out."""
    found = {}
    for line in listed.splitlines():
        with suppress(ValueError):
            gpu, percent = (each.strip() for each in line.split(","))
            found[gpu] = int(percent) / 100
    return found
