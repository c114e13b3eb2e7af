"""How long tests wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 90.0
"""The longest that a test waits; a busy machine may need it."""


def wait_for(reached: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until a condition holds."""
    until_s = time.monotonic() + within_s
    while not reached():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.01)


async def reached(condition: Callable[[], object]) -> None:
    """Wait until a condition holds while the event loop runs."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)
