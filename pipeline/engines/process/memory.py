"""The memory that a process can get, and whether it is enough to load a model.

Libraries report a lack of memory in many ways, and some only crash. So a failed load is judged by
the available memory first, and by the library's error only if that was enough.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from pipeline.core.files import size_bytes

_LIBRARIES_BYTES: Final = 150_000_000
"""Memory of an engine's interpreter and libraries without the model: 125 MB with Whisper."""
_ADDRESSES_BYTES: Final = 1_000_000_000
"""Their address space: 570 MB with Whisper on 2 cores, more with each further thread."""


def address_limit(pid: int = 0) -> int | None:
    """Return a process's limit of address space in bytes (ulimit -v, LimitAS=), None without one.

    `pid` 0 is this process. A process that is gone has no limit.
    """
    try:
        soft, _ = psutil.Process(pid or None).rlimit(psutil.RLIMIT_AS)
    except (AttributeError, OSError, psutil.Error):  # only Linux has this limit
        return None
    return None if soft == psutil.RLIM_INFINITY else int(soft)


def free_bytes() -> int:
    """Return the bytes that are free on the machine and in this process's control group."""
    # The smallest counts: a container may have far less than the machine.
    return min(int(psutil.virtual_memory().available), *_rooms(_own_group()))


def is_enough(model: Path, *, addresses: int | None, free: int) -> bool:
    """Whether a model fits into the address space (None: no limit) and free memory, in bytes."""
    files = size_bytes(model)
    has_addresses = addresses is None or addresses >= _ADDRESSES_BYTES + 2 * files
    return has_addresses and free >= _LIBRARIES_BYTES + files


def _own_group() -> Path:
    """Return the folder of this process's control group (version 2)."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            # The line of version 2; version 1 has a line for each controller, with its name.
            if line.startswith("0::"):
                # Without the leading slash: an absolute path would replace the folder before it.
                return Path("/sys/fs/cgroup") / line[3:].lstrip("/")
    return Path("/sys/fs/cgroup")


def _rooms(group: Path) -> list[int]:
    """Return the free bytes of a control group and its parents, for those with a limit."""
    rooms = [2**63]
    # All parents: an outer group may have a smaller limit.
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError):  # "max" is no limit
            limit = int((folder / "memory.max").read_text())
            held = int((folder / "memory.current").read_text()) - _files_cached(folder)
            rooms.append(max(0, limit - held))
    return rooms


def _files_cached(group: Path) -> int:
    """Return the bytes of a group's file cache that the kernel can free."""
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text().splitlines():
            # Without active files: a mapped model in use is among them.
            if line.startswith("inactive_file "):
                return int(line.split()[1])
    return 0
