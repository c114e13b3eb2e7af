"""Abusive clients: half never read, the others send, open, drip or guess as fast as they can.

Each has its own address, as phones in a network do. Prints `"ready"` when all are active.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import cycle

from websockets.frames import Frame, Opcode

from scripts.support.command import parser_of

_UPGRADE = (
    b"GET /ws?kind=operator HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_DRIP_S = 0.2
_AGAIN_S = 0.05
_MOST_S = 15.0  # then the client connects again
Socket = socket.socket


def _frame(data: bytes, opcode: Opcode = Opcode.TEXT) -> bytes:
    return Frame(opcode, data).serialize(mask=True)


_GARBAGE = b"".join(
    [
        _frame(b"\x00" * 40, Opcode.BINARY),
        _frame(b"amen"),
        _frame(b'{"type":"ack","seq":"x"}'),
        _frame(b'{"type":"ack","seq":1}'),
        _frame(b"[" * 2000),
        _frame(b"x" * 20_000),
    ]
)
_ACKS = _frame(b'{"type":"ack","seq":1}') * 500
_GUESS = _frame(b'{"type":"auth","token":"12345678"}')


async def never_reads(client: Socket) -> None:
    """Join and never read."""
    await asyncio.get_running_loop().sock_sendall(client, _UPGRADE)
    await asyncio.sleep(3600)


async def sends_garbage(client: Socket) -> None:
    """Join and send data that is not a message."""
    await _pour(client, _GARBAGE)


async def floods(client: Socket) -> None:
    """Join and send valid messages much too often."""
    await _pour(client, _ACKS)


async def opens_and_closes(client: Socket) -> None:
    """Join and leave at once."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, _UPGRADE)
    await loop.sock_recv(client, 65_536)


async def drips(client: Socket) -> None:
    """Send a request byte by byte."""
    for byte in _UPGRADE:
        await asyncio.get_running_loop().sock_sendall(client, bytes([byte]))
        await asyncio.sleep(_DRIP_S)


async def guesses(client: Socket) -> None:
    """Guess operators' tokens."""
    await asyncio.get_running_loop().sock_sendall(client, _UPGRADE)
    while True:
        await asyncio.get_running_loop().sock_sendall(client, _GUESS)
        await asyncio.sleep(_DRIP_S)


async def _pour(client: Socket, data: bytes) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, _UPGRADE)
    while True:
        await loop.sock_sendall(client, data)


Way = Callable[[Socket], Awaitable[None]]
BUSY: tuple[Way, ...] = (sends_garbage, floods, opens_and_closes, drips, guesses)


async def haunt(port: int, home: str, way: Way) -> None:
    """Attack again and again."""
    while True:
        with suppress(OSError, TimeoutError), Socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            client.bind((home, 0))
            async with asyncio.timeout(3600 if way is never_reads else _MOST_S):
                await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
                await way(client)
        await asyncio.sleep(_AGAIN_S)


async def main(port: int, number: int) -> None:
    """Do harm until killed."""
    ways: list[Way] = [never_reads] * (number // 2)
    ways += [way for way, _ in zip(cycle(BUSY), range(number - len(ways)), strict=False)]
    async with asyncio.TaskGroup() as group:
        for each, way in enumerate(ways):
            group.create_task(haunt(port, f"127.2.0.{each + 1}", way))
        await asyncio.sleep(1)
        print('"ready"', flush=True)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--number", type=int, required=True)
    arguments = parser.parse_args()
    os.nice(10)  # real attackers use other machines: their CPU load must not slow the hub
    asyncio.run(main(arguments.port, arguments.number))
