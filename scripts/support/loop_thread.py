"""An event loop in a thread, for servers that a test or a script runs beside itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines and functions of other threads on its loop, from `start` to `stop`."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the loop and wait for its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(15)

    def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Call a function on the loop's thread and return its result."""

        async def called() -> T:
            return function(*arguments, **options)

        return self.wait(called())
