"""Displays that read every caption, and acknowledge it if asked, each from its own address.

Prints `"ready"` when all have their `hello`, waits for a line on standard input, and prints when
each `seq` reached each display, in the order of the displays.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import cast

import orjson
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from pipeline.server import transport as descriptors
from scripts.support.command import parser_of

_CAPTION = re.compile(rb'\{"type":"caption","seq":(\d+)')
_HEAD_END = b"\r\n\r\n"


class Display(asyncio.Protocol):
    """One display: little more than its socket, so that thousands keep up in one process.

    It parses the server's frames itself: the library's parser costs more than the server's sending,
    so the measured times would be those of this process.
    """

    def __init__(self, uri: str, joined: asyncio.Future[None]) -> None:
        self._protocol = ClientProtocol(parse_uri(uri))
        self._joined = joined
        self._write: Callable[[bytes], None]
        self._buffer = bytearray()
        self._is_open = False
        self.received: dict[int, float] = {}
        self.twice = 0
        self._acks = True
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Request the websocket."""
        self._write = cast("asyncio.Transport", transport).write
        self._protocol.send_request(self._protocol.connect())
        for data in self._protocol.data_to_send():
            self._write(data)

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes; their arrival time is now, before any parsing."""
        now_s = time.monotonic()
        self._buffer += data
        if not self._is_open:
            head, end, _ = self._buffer.partition(_HEAD_END)
            if not end or not head.startswith(b"HTTP/1.1 101 "):
                return  # after a refusal the connection ends
            del self._buffer[: len(head) + len(end)]
            self._is_open = True
        for opcode, content in frames(self._buffer):
            if opcode == Opcode.TEXT:
                self._take(content, now_s)
            elif opcode == Opcode.PING:
                self._send(Opcode.PONG, content)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it: no display should be cut off."""
        self.lost = True
        if not self._joined.done():
            self._joined.set_exception(exc or ConnectionError("refused"))

    def _take(self, message: bytes, now_s: float) -> None:
        if found := _CAPTION.match(message):
            seq = int(found[1])
            self.twice += seq in self.received
            self.received.setdefault(seq, now_s)
            if self._acks:
                self._send(Opcode.TEXT, orjson.dumps({"type": "ack", "seq": seq}))
        elif message.startswith(b'{"type":"hello"'):
            self._acks = bool(orjson.loads(message)["acks"])
            if not self._joined.done():  # a relay repeats `hello` when it hears of the service
                self._joined.set_result(None)

    def _send(self, opcode: Opcode, content: bytes) -> None:
        self._write(Frame(opcode, content).serialize(mask=True))


def frames(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and content of each whole frame, and remove them from the buffer.

    The server's frames are neither masked nor fragmented.
    """
    at = 0
    while len(buffer) >= at + 2:
        size, start = buffer[at + 1], at + 2
        if size >= 126:
            start += 2 if size == 126 else 8
            size = int.from_bytes(buffer[at + 2 : start])
        if len(buffer) < start + size:
            break
        yield buffer[at] & 15, bytes(buffer[start : start + size])
        at = start + size
    del buffer[:at]


async def main(port: int, number: int, langs: list[str]) -> None:
    """Join, stay, report."""
    loop = asyncio.get_running_loop()
    displays: list[Display] = []
    if descriptors.allow(number) < number:
        raise SystemExit(f"This user may not open {number} sockets: see `ulimit -Hn`.")
    for each in range(number):
        joined: asyncio.Future[None] = loop.create_future()
        lang = langs[each % len(langs)]
        query = f"kind=audience&lang={lang}" if lang else "kind=audience"
        display = Display(f"ws://127.0.0.1:{port}/ws?{query}", joined)
        home = f"127.1.{each // 250}.{each % 250 + 1}"
        await loop.create_connection(
            lambda made=display: made,  # type: ignore[misc]
            "127.0.0.1",
            port,
            local_addr=(home, 0),
        )
        await joined
        displays.append(display)
    print('"ready"', flush=True)
    used_s = time.process_time()
    await asyncio.to_thread(sys.stdin.readline)
    report = {
        "cpu_s": round(time.process_time() - used_s, 3),
        "lost": sum(display.lost for display in displays),
        "twice": sum(display.twice for display in displays),
        "received": [
            {str(seq): at_s for seq, at_s in display.received.items()} for display in displays
        ],
    }
    print(orjson.dumps(report).decode(), flush=True)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--langs", default="", help="es,fr: in turns; without, the server's choice")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.port, arguments.number, arguments.langs.split(",")))
