"""A church that publishes captions at a sermon's rate, in its own process.

Prints `"ready"`, waits for a line on standard input, publishes for --seconds, and prints when it
offered each `seq` of each language (seconds of the monotonic clock, which all processes of a
machine share).
"""

from __future__ import annotations

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
from scripts.support.command import parser_of


def main(url: str, seconds: float, langs: tuple[str, ...], rate: float) -> None:
    """Publish, and wait until the server has all captions."""
    boards = {lang: CaptionBoard("relays", "en", lang, 200) for lang in langs}
    status = ServiceStatus(
        session="relays", mode="live", source="en", targets=langs, state="speech"
    )
    troubles: list[Report] = []
    publisher = Publisher(Publish(nats=url), status)
    publisher.start(troubles.append)
    while publisher.waiting and not troubles:
        time.sleep(0.05)
    print('"ready"', flush=True)
    sys.stdin.readline()
    published: dict[str, dict[str, float]] = {lang: {} for lang in langs}
    began_s, used_s = time.monotonic(), time.process_time()
    for number, each in enumerate(islice(captions(), int(seconds * rate))):
        time.sleep(max(0.0, began_s + number / rate - time.monotonic()))
        for lang, board in boards.items():
            if message := board.show(each):
                published[lang][str(message.seq)] = time.monotonic()
                publisher.on_caption(message, lang)
    publisher.close(10.0)
    report = {
        "published": published,
        "cpu_s": round(time.process_time() - used_s, 3),
        "waiting": publisher.waiting,
        "troubles": [repr(each) for each in troubles],
    }
    print(orjson.dumps(report).decode(), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--nats", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rate", type=float, default=RATE, help="messages a second")
    parser.add_argument("--langs", required=True, help="es,fr: the first is the first target")
    logs.configure("error", "json")
    arguments = parser.parse_args()
    main(arguments.nats, arguments.seconds, tuple(arguments.langs.split(",")), arguments.rate)
