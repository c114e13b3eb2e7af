"""Detect the machine's cores, memory and GPUs, and measure how busy it is."""

from __future__ import annotations

import platform
import time
from contextlib import suppress
from pathlib import Path

import psutil

from pipeline.engines.llama_cpp import llama
from pipeline.engines.process.gpu_use import query
from pipeline.tuning.plan import Gpu, Machine

_LOOK_S = 1.0
_IDLE = frozenset({"idle", "iowait", "guest", "guest_nice"})  # guests are in `user` already


class ExternalLoad:
    """Measures the processor time that other programs use from now on."""

    def __init__(self) -> None:
        self._start = _processor_s()

    def share(self) -> float:
        """Return their share of all cores since then, 0..1."""
        idle_s, busy_s, own_s = (
            now - then for now, then in zip(_processor_s(), self._start, strict=True)
        )
        # Times are in ticks of 10 ms, so a short measurement may give less than 0 or more than 1.
        whole_s = idle_s + busy_s
        return min(1.0, max(0.0, (busy_s - own_s) / whole_s)) if whole_s > 0 else 0.0


def machine() -> Machine:
    """Return the machine's resources. Takes a second, to measure how busy it is."""
    memory, others = psutil.virtual_memory(), ExternalLoad()
    time.sleep(_LOOK_S)
    return Machine(
        cpu=cpu_name(),
        cores=_cores(),
        ram_bytes=memory.total,
        ram_free_bytes=memory.available,
        gpus=gpus(),
        cuda=_cuda(),
        llama_gpu=llama.has_gpu(),
        busy=others.share(),
    )


def gpus() -> tuple[Gpu, ...]:
    """Return NVIDIA's GPUs as nvidia-smi lists them; none without it."""
    return parse_gpus(query("--query-gpu=name,memory.total,memory.free"))


def parse_gpus(listed: str) -> tuple[Gpu, ...]:
    """Return the GPUs in nvidia-smi's lines `name, total MiB, free MiB`; skip other lines."""
    parsed = []
    for line in listed.splitlines():
        with suppress(ValueError):  # "[N/A]", as on machines that share their memory
            name, total, free = line.rsplit(",", 2)
            # nvidia-smi counts in MiB.
            parsed.append(Gpu(name.strip(), int(total) << 20, int(free) << 20))
    return tuple(parsed)


def _cores() -> int:
    # Physical cores: two threads of one share its arithmetic units, which engines keep busy.
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    process = psutil.Process()
    # A container may allow fewer. psutil has no such method on macOS.
    allowed = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else cores
    return min(cores, allowed)


def _processor_s() -> tuple[float, float, float]:
    """Return seconds of all cores since the start: idle, busy, and busy for this process."""
    # Which kinds of time there are differs between systems.
    times = psutil.cpu_times()._asdict()
    idle_s = times["idle"] + times.get("iowait", 0.0)
    return idle_s, sum(s for name, s in times.items() if name not in _IDLE), time.process_time()


def _cuda() -> bool:
    import ctranslate2  # noqa: PLC0415 - heavy

    return bool(ctranslate2.get_cuda_device_count())


def cpu_name() -> str:
    """Return the processor's name."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
