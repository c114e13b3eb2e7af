"""What the machine has: cores, memory, GPUs, and how busy it is."""

from __future__ import annotations

import platform
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from pipeline.engines import llama
from pipeline.tuning import Gpu, Machine

_LOOK_S = 1.0


def machine() -> Machine:
    """Return what is there to work with. Takes a second, to see how busy it is."""
    memory = psutil.virtual_memory()
    return Machine(
        cpu=_cpu(),
        cores=min(
            psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
            len(psutil.Process().cpu_affinity()),
        ),
        ram_bytes=memory.total,
        ram_free_bytes=memory.available,
        gpus=gpus(),
        cuda=_cuda(),
        llama_gpu=llama.has_gpu(),
        busy=psutil.cpu_percent(interval=_LOOK_S) / 100,
    )


def gpus() -> tuple[Gpu, ...]:
    """Return NVIDIA's GPUs, as nvidia-smi tells of them; none without it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    query = ["--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(  # noqa: S603 - the path is found, the arguments are ours
            [program, *query], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()  # installed, and without a GPU or its driver
    return parse_gpus(done.stdout)


def parse_gpus(listed: str) -> tuple[Gpu, ...]:
    """Return the GPUs in nvidia-smi's lines `name, total MiB, free MiB`; others are left out."""
    found = []
    for line in listed.splitlines():
        with suppress(ValueError):  # "[N/A]", as on machines that share their memory
            name, total, free = line.rsplit(",", 2)
            found.append(Gpu(name.strip(), int(total) << 20, int(free) << 20))
    return tuple(found)


def _cuda() -> bool:
    import ctranslate2  # noqa: PLC0415 - heavy

    return bool(ctranslate2.get_cuda_device_count())


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
