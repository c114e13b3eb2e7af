"""Measure captions from a church over NATS and relays to displays: `make bench-relays`.

Everything runs on this machine: nats-server, the church, the relays and all displays, so the times
include all of that load. Only a relay's CPU time per display and caption applies to other machines;
docs/SCALE.md uses it. Each display takes two open files here, one in its own process and one in its
relay's: both raise their limit as far as this user may.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from rich.console import Console

from pipeline.core.percentiles import spread
from pipeline.server import transport as descriptors
from scripts.bench.crowd.__main__ import Part
from scripts.bench.crowd.hub import RATE
from scripts.bench.report_section import made
from scripts.support.command import parser_of
from scripts.support.nats_server import NatsServer
from scripts.support.program import started

console, progress = Console(), Console(stderr=True)

LANGS = ("es", "fr", "de")
"""Languages that the displays take in turns."""
_LIMIT_MS = 250.0
"""Target for the p99 of delivery, from docs/SCALE.md."""
_LAST_S = 5.0
"""Time for the last captions to reach the displays, which share the machine."""


def main() -> int:
    """Measure, print, judge; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--displays", type=int, default=300, help="in all (default 300)")
    parser.add_argument("--relays", type=int, default=2, help="(default 2)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of captions (default 60)")
    parser.add_argument("--rate", type=float, default=RATE,
        help="messages a second in a language (%(default)g; a sermon of ours had 1.2)")  # fmt: skip
    arguments = parser.parse_args()
    refuse_too_many(arguments.displays, arguments.relays)
    result = run(arguments.relays, arguments.displays, arguments.seconds, rate=arguments.rate)
    console.print_json(orjson.dumps(result).decode())
    whole = not (result["missed"] or result["twice"] or result["lost"] or result["troubles"])
    return 0 if whole and result["delivery_ms"]["p99"] <= _LIMIT_MS else 1


def refuse_too_many(displays: int, relays: int) -> None:
    """Raise SystemExit if a process of this user may not have so many open files."""
    wanted = -(-displays // relays)
    if (most := descriptors.allow(wanted)) < wanted:
        raise SystemExit(
            f"A process of this user may have {most} connections, and {displays} displays at "
            f"{relays} relays need {wanted} each. Take more --relays, or raise it for this shell: "
            f"sudo prlimit --pid $$ --nofile={2 * wanted}"
        )


def run(relays: int, displays: int, seconds: float, *, rate: float = RATE) -> dict[str, Any]:
    """Run once; return the figures. Displays take the languages in turns."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(NatsServer(folder))
        langs = ",".join(LANGS)
        church = stack.enter_context(
            Part("relays.church", nats=server.url, seconds=seconds, langs=langs, rate=rate)
        )
        church.told()
        progress.print(f"{displays} displays join {relays} relays ...")
        command = ("relay", "--nats", server.url, "--max-clients", str(displays))
        edges = [stack.enter_context(started(*command, cwd=folder)) for _ in range(relays)]
        halls = []
        for number, edge in enumerate(edges):
            share = displays // relays + (number < displays % relays)
            port = urlsplit(edge.address).port
            hall = Part("crowd.displays", port=port, number=share, langs=langs)
            halls.append(stack.enter_context(hall))
        for hall in halls:
            hall.told()
        progress.print(f"captions for {seconds:g} s ...")
        before_s = [edge.cpu_s for edge in edges]
        church.go()
        report = church.told()
        used_s = sum(edge.cpu_s for edge in edges) - sum(before_s)
        time.sleep(_LAST_S)
        for hall in halls:
            hall.go()
        heard = [hall.told() for hall in halls]
        memory_mb = [edge.processes[0].memory_info().rss / 1e6 for edge in edges]
    return figures(report, heard, used_s, LANGS) | {
        "relays": relays,
        "displays": displays,
        "languages": len(LANGS),
        "seconds": seconds,
        "rate": rate,
        "made": made(),
        "relay_memory_mb": [round(each, 1) for each in memory_mb],
    }


def figures(
    told: dict[str, Any], heard: list[dict[str, Any]], used_s: float, langs: tuple[str, ...]
) -> dict[str, Any]:
    """Return the figures of a run.

    A relay that reads late gets only the newest version from the stream, so a display may not get a
    partial that was replaced meanwhile; `missed` counts the displays without the last version.
    """
    published: dict[str, dict[str, float]] = told["published"]
    last = {lang: str(max(map(int, seqs))) for lang, seqs in published.items()}
    times, skipped, missed = [], 0, 0
    for hall in heard:
        for lang, received in zip(cycle(langs), hall["received"], strict=False):
            times += [(at_s - published[lang][seq]) * 1000 for seq, at_s in received.items()]
            skipped += len(published[lang]) - len(received)
            missed += last[lang] not in received
    took = spread(times)
    if took is None:
        raise SystemExit("No display got a caption.")
    captions = sum(map(len, published.values()))
    return {
        "published": captions,
        "delivered": len(times),
        "skipped": skipped,
        "missed": missed,
        "twice": sum(hall["twice"] for hall in heard),
        "lost": sum(hall["lost"] for hall in heard),
        "troubles": told["troubles"],
        "delivery_ms": {"p50": took.p50, "p95": took.p95, "p99": took.p99, "most": took.max},
        "church_cpu_ms_a_caption": round(told["cpu_s"] / captions * 1000, 2),
        "relay_cpu_us_a_delivery": round(used_s / len(times) * 1e6, 1),
        "display_cpu_us_a_delivery": round(
            sum(hall["cpu_s"] for hall in heard) / len(times) * 1e6, 1
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
