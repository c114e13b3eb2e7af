"""The displays of the soak: some stay, some come and go, and some never read."""

from __future__ import annotations

import asyncio
import random
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

_ESTABLISHED = 1  # tcp_states.h
_HANDSHAKE = (
    "GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Displays:
    """Counts received captions. `staying` displays stay; in `changing` seats people come and go."""

    def __init__(self, address: str, *, staying: int, changing: int, unread: int) -> None:
        self._ws = address.replace("http", "ws", 1).rstrip("/") + "/ws"
        self._seats = [self._stay() for _ in range(staying)]
        self._seats += [self._come_and_go(seed) for seed in range(changing)]
        self._seats += [self._never_read() for _ in range(unread)]
        self.captions = 0
        self.visits = 0
        self.cut_off = 0

    async def attend(self) -> None:
        """Stay until cancelled."""
        async with asyncio.TaskGroup() as group:
            for seat in self._seats:
                group.create_task(seat)

    async def _stay(self) -> None:
        while True:
            await self._watch(3600.0)
            await asyncio.sleep(1)

    async def _come_and_go(self, seed: int) -> None:
        draw = random.Random(seed)
        while True:
            await self._watch(draw.uniform(0.2, 20))
            await asyncio.sleep(draw.uniform(0, 5))

    async def _watch(self, seconds: float) -> None:
        """Read and acknowledge captions for `seconds`."""
        self.visits += 1
        with suppress(TimeoutError, OSError, WebSocketException):
            async with asyncio.timeout(seconds), connect(self._ws, compression=None) as display:
                async for raw in display:
                    message = orjson.loads(raw)
                    if message["type"] == "caption":
                        self.captions += 1
                        if message["final"]:
                            ack = {"type": "ack", "seq": message["seq"]}
                            await display.send(orjson.dumps(ack).decode())

    async def _never_read(self) -> None:
        """Connect, read nothing, and come back when cut off."""
        where = urlsplit(self._ws)
        while True:
            with suppress(OSError), socket.socket() as display:
                display.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                display.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_connect(display, (where.hostname, where.port))
                await loop.sock_sendall(display, _HANDSHAKE.format(host=where.netloc).encode())
                while _open(display):  # noqa: ASYNC110 - the kernel tells nobody
                    await asyncio.sleep(1)
                self.cut_off += 1
            await asyncio.sleep(1)


def _open(display: socket.socket) -> bool:
    """Whether the other side has not hung up, found out without reading."""
    try:
        state = display.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    except OSError:
        return False
    return state == _ESTABLISHED
