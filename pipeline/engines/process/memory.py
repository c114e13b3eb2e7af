"""How much memory a process can get, and whether that is enough to load a model.

Libraries have many ways to say that they got no memory, and some only crash. So a load that failed
is judged by what there was, and by their words only where that was enough.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

_LIBRARIES_BYTES: Final = 150_000_000
"""What an engine's interpreter and libraries hold beside the model: 125 MB with Whisper."""
_ADDRESSES_BYTES: Final = 1_000_000_000
"""Addresses that they take: 570 MB with Whisper on 2 cores, more with each other thread."""


def address_limit(pid: int = 0) -> int | None:
    """Return how many bytes of addresses a process may have (ulimit -v, LimitAS=), None for any.

    `pid` 0 is this process. One that is gone has no limit.
    """
    try:
        soft, _ = psutil.Process(pid or None).rlimit(psutil.RLIMIT_AS)
    except (AttributeError, OSError, psutil.Error):  # only Linux tells
        return None
    return None if soft == psutil.RLIM_INFINITY else int(soft)


def free_bytes() -> int:
    """Return how many bytes the machine, or the control group of this process, still has."""
    # The narrowest counts: a container may have far less than the machine.
    return min(int(psutil.virtual_memory().available), *_rooms(_own_group()))


def is_enough(model: Path, *, addresses: int | None, free: int) -> bool:
    """Whether a model can be loaded in so many addresses (None: any) and bytes of free memory."""
    files = size_bytes(model)
    has_addresses = addresses is None or addresses >= _ADDRESSES_BYTES + 2 * files
    return has_addresses and free >= _LIBRARIES_BYTES + files


def size_bytes(model: Path) -> int:
    """Return the size of a model's files, without those that cannot be looked at."""
    files = model.iterdir() if model.is_dir() else [model]
    total = 0
    for file in files:
        with suppress(OSError):
            total += file.stat().st_size
    return total


def _own_group() -> Path:
    """Return the folder of this process's control group (version 2)."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            # The line of version 2; version 1 has one for each controller, with its name in it.
            if line.startswith("0::"):
                # Without its slash: an absolute path would replace the folder before it.
                return Path("/sys/fs/cgroup") / line[3:].lstrip("/")
    return Path("/sys/fs/cgroup")


def _rooms(group: Path) -> list[int]:
    """Return what a control group and those around it leave free, where they have a limit."""
    rooms = [2**63]
    # Of all around it: a group further out may be narrower.
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError):  # "max" is no limit
            limit = int((folder / "memory.max").read_text())
            held = int((folder / "memory.current").read_text()) - _files_cached(folder)
            rooms.append(max(0, limit - held))
    return rooms


def _files_cached(group: Path) -> int:
    """Return how much of a group's memory is files read or written, which the kernel gives back."""
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text().splitlines():
            # The active files are left out: a model that is mapped and in use is among them.
            if line.startswith("inactive_file "):
                return int(line.split()[1])
    return 0
