"""The real hub with captions at a sermon's rate, in its own process.

Prints `{"port": ...}`, waits for a line on standard input, publishes for --seconds, and prints when
it published each `seq` (seconds of the monotonic clock, which all processes of a machine share).
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from secrets import token_urlsafe

import orjson

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Server
from pipeline.core import logs
from pipeline.core.metrics import Metrics
from pipeline.core.types import Caption
from pipeline.server.hub import Hub
from scripts.support.command import parser_of
from scripts.support.records import caption, health_record

RATE = 6.0
"""Messages per second: a partial every 0.8 s with its translation, finals, edits, and a margin."""
_VERSIONS = 8  # of one caption, the last of them final
_SOURCE = (
    "and so he said to them that whoever wants to be first must be the servant of all of them "
)
_TARGET = "y así les dijo que quien quiera ser el primero debe ser el siervo de todos y cada uno "


def captions() -> Iterator[Caption]:
    """Yield captions that grow by some words with every version, without end."""
    for key in count(1):
        for version in range(1, _VERSIONS + 1):
            source, target = (
                f"{key}: {text[: len(text) * version // _VERSIONS]}" for text in (_SOURCE, _TARGET)
            )
            final = version == _VERSIONS
            yield caption(key, source, target, final=final, stable=len(target) * 3 // 4)


async def publish(hub: Hub, board: CaptionBoard, seconds: float) -> dict[int, float]:
    """Publish at an even pace; return when each `seq` was published."""
    published: dict[int, float] = {}
    began_s = time.monotonic()
    for number, each in enumerate(islice(captions(), int(seconds * RATE))):
        await asyncio.sleep(max(0.0, began_s + number / RATE - time.monotonic()))
        message = board.show(each)
        if message is not None:
            published[message.seq] = time.monotonic()
            hub.publish(message, board.target)
    return published


async def main(seconds: float) -> None:
    """Serve until the captions end, and two seconds more for the last ones to arrive."""
    board, metrics = CaptionBoard("crowd", "en", "es", 200), Metrics()
    hub = Hub((board,), Server(port=0), mode="live", token=token_urlsafe(), metrics=metrics)
    await hub.start(on_command=lambda _: None, health=health_record)
    print(orjson.dumps({"port": hub.port}).decode(), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    before = resource.getrusage(resource.RUSAGE_SELF)
    published = await publish(hub, board, seconds)
    used = resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.sleep(2)
    sample = metrics.registry.get_sample_value
    result = {
        "published": {str(seq): at_s for seq, at_s in published.items()},
        "cpu_share": (used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime) / seconds,
        "cut_off": sample("stark_slow_clients_total") or 0,
        "flooding": sample("stark_client_errors_total", {"code": "too-many-messages"}) or 0,
        "wrong_tokens": sum(
            sample("stark_client_errors_total", {"code": code}) or 0
            for code in ("not-authorized", "too-many-attempts")
        ),
    }
    print(orjson.dumps(result).decode(), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await hub.close()


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    logs.configure("error", "json")
    asyncio.run(main(parser.parse_args().seconds))
