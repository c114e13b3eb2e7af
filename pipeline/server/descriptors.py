"""Raise the file-descriptor limit for the expected connections plus a reserve."""

from __future__ import annotations

import resource

SPARE = 128
"""Descriptors kept for models, records, the sound device and all else the program opens."""


def allow(connections: int) -> int:
    """Raise this process's limit for `connections`; return how many it can have.

    The soft limit is usually 1024; a process may raise it up to the hard limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return min(connections, max(soft - SPARE, soft // 2))
