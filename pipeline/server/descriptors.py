"""Raise the file-descriptor limit for the expected connections plus a reserve."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:  # the settings take half a second to import, for two numbers
    from pipeline.config import schema
    from pipeline.server.rate_limits import ConnectionLimiter

log = structlog.get_logger()

_REQUESTS_OPEN = 500  # connections for pages, beside those of displays
_KEPT = 64  # further ones for this machine and for operators
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
    # Where the hard limit is hardly more than the reserve, connections get half of it.
    return min(connections, max(soft - SPARE, soft // 2))


def take_limits(limiter: ConnectionLimiter, settings: schema.Server) -> None:
    """Let in as many connections as the settings say, and this machine can have."""
    most = allow(settings.max_clients + _REQUESTS_OPEN + _KEPT)
    limiter.kept = min(_KEPT, most // 4)  # where descriptors are few, others need some as well
    limiter.most = most - limiter.kept
    limiter.per_address = settings.max_per_address
    if limiter.most < settings.max_clients:
        log.warning("few displays", code="descriptors-few", most=limiter.most)
