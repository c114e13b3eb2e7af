"""A TCP proxy that can act as a dead uplink: nothing passes, and neither side is notified."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self


class TcpProxy:
    """Forwards its own port to another one, on the running event loop."""

    def __init__(self, port: int) -> None:
        """`port` is the destination."""
        self._to = port
        self._passes = asyncio.Event()
        self._passes.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Its own port."""
        assert self._server
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *problem: object) -> None:
        assert self._server
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Let nothing pass from now on; connections stay open."""
        self._passes.clear()

    def mend(self) -> None:
        """Let everything pass again, also the data that has waited."""
        self._passes.set()

    async def _join(self, near: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._passes.wait()
                far, ask = await asyncio.open_connection("127.0.0.1", self._to)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(self._forward(near, ask))
                        both.create_task(self._forward(far, answer))
                finally:
                    ask.close()
        finally:
            answer.close()
            self._tasks.discard(task)

    async def _forward(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                await self._passes.wait()
                sink.write(data)
                await sink.drain()
        sink.close()
