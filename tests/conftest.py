"""For every test: what it starts it must end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("long", max_examples=2_000, deadline=None)
"""For `pytest --hypothesis-profile=long -o timeout=0 tests/fuzz`, now and then."""

LIBRARY_THREADS = ("tqdm", "asyncio_", "portaudio", "pytest_timeout", "ThreadPoolExecutor")
"""Threads that libraries keep for the whole process."""

GRACE_S = 5.0


@pytest.fixture(autouse=True)
def _no_leaked_thread() -> Iterator[None]:
    """Fail a test that leaves a thread of ours behind."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE_S
    while leaked := [
        thread
        for thread in set(threading.enumerate()) - before
        if thread.is_alive() and not thread.name.startswith(LIBRARY_THREADS)
    ]:
        if time.monotonic() > deadline:
            pytest.fail(f"left running: {[thread.name for thread in leaked]}")
        time.sleep(0.02)
