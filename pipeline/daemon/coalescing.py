"""A piece of work that may be asked for at any rate, and is done one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Coalesced(Generic[T]):
    """Does its work when asked; whoever asks while it is at it shares the next time.

    Belongs to the event loop's thread.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """`work` must not raise: nobody may be there to hear of it."""
        self._work = work
        self._running: asyncio.Task[T] | None = None
        self._next: asyncio.Task[T] | None = None

    def request(self) -> Awaitable[T]:
        """Ask for the work; return what gives the result of a time that begins after this call.

        Whoever waits for that may be cancelled, the work goes on.
        """
        if self._next is None:
            if self._running is None or self._running.done():
                self._running = asyncio.create_task(self._work())
                return asyncio.shield(self._running)
            self._next = asyncio.create_task(self._follow(self._running))
        return asyncio.shield(self._next)

    async def _follow(self, earlier: asyncio.Task[T]) -> T:
        # Not `await earlier`: whoever cancelled this would cancel that as well.
        await asyncio.wait([earlier])
        self._running, self._next = self._next, None
        return await self._work()
