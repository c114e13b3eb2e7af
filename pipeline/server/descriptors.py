"""File descriptors: as many as the displays need, and some that no display gets."""

from __future__ import annotations

import resource

SPARE = 128
"""For models, records, the sound device and what else the program opens."""


def allow(connections: int) -> int:
    """Raise this process's limit for so many connections; return how many it can have.

    A soft limit of 1024 is usual; the hard one, up to which a process may go by itself, is higher.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return min(connections, max(soft - SPARE, soft // 2))
