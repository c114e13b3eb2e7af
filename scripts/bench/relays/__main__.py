"""Measure captions from a church over NATS and relays to displays: `make bench-relays`.

Everything runs on this machine: nats-server, the church, the relays and all displays. So the times
are those of a machine that does all of it; what carries over is the CPU time of a relay for each
display and caption, from which docs/SCALE.md reckons.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import psutil
from rich.console import Console

from pipeline.core.percentiles import spread
from pipeline.tuning.hardware import machine
from scripts.bench.crowd.__main__ import Part
from scripts.bench.relays.edge import RelayProcess
from scripts.support.nats_server import NatsServer

console = Console()

_LAST_S = 5.0
"""For the last captions to arrive at displays that share the machine."""


def main() -> int:
    """Measure, print, judge; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--displays", type=int, default=300, help="in all (default 300)")
    parser.add_argument("--relays", type=int, default=2, help="(default 2)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of captions (default 60)")
    parser.add_argument("--limit", type=float, default=250.0, help="p99, ms (default 250)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    result = run(arguments.relays, arguments.displays, arguments.seconds)
    here = machine()
    result["made"] = f"{datetime.now(UTC).date()}, {here.cpu}, {here.cores} cores"
    console.print_json(orjson.dumps(result).decode())
    if arguments.json:
        arguments.json.write_bytes(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    whole = not (result["missed"] or result["twice"] or result["lost"] or result["troubles"])
    return 0 if whole and result["delivery_ms"]["p99"] <= arguments.limit else 1


def run(relays: int, displays: int, seconds: float) -> dict[str, Any]:
    """Run once; return the figures."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(NatsServer(Path(folder)))

        def start(part: str, **options: object) -> Part:
            made = Part(part, **options)
            stack.callback(made.end)
            return made

        church = start("relays.church", nats=server.url, seconds=seconds)
        church.told()
        edges = [stack.enter_context(RelayProcess(server.url, displays)) for _ in range(relays)]
        shares = [displays // relays + (each < displays % relays) for each in range(relays)]
        halls = [
            start("crowd.displays", port=edge.port, number=share)
            for edge, share in zip(edges, shares, strict=True)
        ]
        for hall in halls:
            hall.told()
        before_s = [edge.cpu_s for edge in edges]
        church.go()
        told = church.told()
        used_s = sum(edge.cpu_s for edge in edges) - sum(before_s)
        time.sleep(_LAST_S)
        for hall in halls:
            hall.go()
        heard = [hall.told() for hall in halls]
        memory_mb = [psutil.Process(edge.pid).memory_info().rss / 1e6 for edge in edges]
    return figures(told, heard, displays, used_s) | {
        "relays": relays,
        "displays": displays,
        "seconds": seconds,
        "relay_memory_mb": [round(each, 1) for each in memory_mb],
    }


def figures(
    told: dict[str, Any], heard: list[dict[str, Any]], displays: int, used_s: float
) -> dict[str, Any]:
    """Return what is to be told of a run.

    The stream gives a relay that reads late the newest version only, so a display may never be sent
    a partial that was replaced in between; `missed` counts the displays without the last version.
    """
    published = told["published"]
    received = [each for hall in heard for each in hall["received"]]
    last = str(max(map(int, published)))
    times = [(at_s - published[seq]) * 1000 for each in received for seq, at_s in each.items()]
    took = spread(times)
    if took is None:
        raise SystemExit("No display got a caption.")
    return {
        "published": len(published),
        "delivered": len(times),
        "skipped": displays * len(published) - len(times),
        "missed": sum(last not in each for each in received),
        "twice": sum(hall.get("twice", 0) for hall in heard),
        "lost": sum(hall["lost"] for hall in heard),
        "troubles": told["troubles"],
        "delivery_ms": {"p50": took.p50, "p95": took.p95, "p99": took.p99, "most": took.max},
        "church_cpu_ms_a_caption": round(told["cpu_s"] / len(published) * 1000, 2),
        "relay_cpu_us_a_delivery": round(used_s / len(times) * 1e6, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
