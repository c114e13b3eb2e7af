"""A church that publishes captions at a sermon's rate, in a process of its own.

Prints `"ready"`, waits for a line on standard input, publishes for --seconds, and prints when it
offered each `seq` (seconds of the monotonic clock, which all processes of a machine share).
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import islice

import orjson

from pipeline.captions.board import CaptionBoard
from pipeline.config.publishing import Publish
from pipeline.core import logs
from pipeline.core.reports import Report
from pipeline.publish.publisher import Publisher
from pipeline.publish.stream import ServiceStatus
from scripts.bench.crowd.hub import RATE, captions


def main(url: str, seconds: float) -> None:
    """Publish, and wait until the server has all of it."""
    board = CaptionBoard("relays", "en", "es", 200)
    status = ServiceStatus(
        session=board.session, mode="live", source="en", targets=("es",), state="speech"
    )
    troubles: list[Report] = []
    publisher = Publisher(Publish(nats=url), status)
    publisher.start(troubles.append)
    while publisher.waiting and not troubles:
        time.sleep(0.05)
    print('"ready"', flush=True)
    sys.stdin.readline()
    published: dict[str, float] = {}
    began_s, used_s = time.monotonic(), time.process_time()
    for number, each in enumerate(islice(captions(), int(seconds * RATE))):
        time.sleep(max(0.0, began_s + number / RATE - time.monotonic()))
        if message := board.show(each):
            published[str(message.seq)] = time.monotonic()
            publisher.offer(message)
    publisher.close(10.0)
    told = {
        "published": published,
        "cpu_s": round(time.process_time() - used_s, 3),
        "waiting": publisher.waiting,
        "troubles": [repr(each) for each in troubles],
    }
    print(orjson.dumps(told).decode(), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nats", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    logs.configure("error", "json")
    arguments = parser.parse_args()
    main(arguments.nats, arguments.seconds)
