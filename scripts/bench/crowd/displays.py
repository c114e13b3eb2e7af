"""Displays that read every caption, and acknowledge it if asked, each from an address of its own.

Prints `"ready"` when all have their `hello`, waits for a line on standard input, and prints when
each `seq` came to each display, in the order of the displays.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import cast

import orjson
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from pipeline.server import descriptors


class Display(asyncio.Protocol):
    """One display: little more than its socket, so that 450 of them keep up in one process."""

    def __init__(self, uri: str, joined: asyncio.Future[None]) -> None:
        self._protocol = ClientProtocol(parse_uri(uri))
        self._joined = joined
        self._write: Callable[[bytes], None]
        self.received: dict[int, float] = {}
        self.twice = 0
        self._acks = True
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the socket."""
        self._write = cast("asyncio.Transport", transport).write
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Take what came; it came now, however long it takes to look at it."""
        now_s = time.monotonic()
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._take(orjson.loads(event.data), now_s)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remember it: no display should be cut off."""
        self.lost = True
        if not self._joined.done():
            self._joined.set_exception(exc or ConnectionError("refused"))

    def _take(self, message: dict[str, object], now_s: float) -> None:
        if message["type"] == "hello":
            self._acks = bool(message["acks"])
            self._joined.set_result(None)
        elif message["type"] == "caption":
            seq = int(str(message["seq"]))
            self.twice += seq in self.received
            self.received.setdefault(seq, now_s)
            if self._acks:
                self._protocol.send_text(orjson.dumps({"type": "ack", "seq": seq}))

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._write(data)


async def main(port: int, number: int, langs: list[str]) -> None:
    """Join, stay, tell."""
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
    await asyncio.to_thread(sys.stdin.readline)
    told = {
        "lost": sum(display.lost for display in displays),
        "twice": sum(display.twice for display in displays),
        "received": [
            {str(seq): at_s for seq, at_s in display.received.items()} for display in displays
        ],
    }
    print(orjson.dumps(told).decode(), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--langs", default="", help="es,fr: in turns; without, the server's choice")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.port, arguments.number, arguments.langs.split(",")))
