"""How soon captions reach 450 displays, alone and with 50 abusive clients among them.

    python -m scripts.bench.crowd                               two runs of a minute
    python -m scripts.bench.crowd --turns 3 --markdown docs/BENCHMARKS.md

The real hub is one process, the displays another, the abusive clients a third; each has an address
of its own. Delivery is from publishing a caption to a display's having its bytes, so the displays'
own work, which is the same in both runs, is in it. Half of the abusive clients never read; the
others send garbage or too much at full speed, open and close, drip their request, or guess tokens.
Ends with 1 if a display misses a caption, or if p99 with abusive clients is over --limit times that
without.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import orjson
from rich.console import Console
from rich.progress import track

from pipeline.core.percentiles import spread
from pipeline.tuning.hardware import machine
from scripts.bench.report_section import markdown, write
from scripts.bench.report_section import show as show_table
from scripts.support.command import parser_of, write_json
from scripts.support.paths import ROOT

TITLE = "## A full hall, and abusive clients in it"
PREFACE = """
Made by `make crowd`: milliseconds from publishing a caption until a display has it,
over all displays and captions, without and with abusive clients, in one sitting. All of them
share the machine, so only the ratio can be compared.
"""
console = Console()


def main() -> int:
    """Run, judge, write; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--displays", type=int, default=450, help="that behave (default 450)")
    parser.add_argument("--abusive", type=int, default=50, help="... that do not (default 50)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of captions (default 60)")
    parser.add_argument("--turns", type=int, default=1, help="runs of each kind (default 1)")
    parser.add_argument("--limit", type=float, default=2.0, help="ratio of p99 (default 2)")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument(
        "--markdown", type=Path, help="write the table into its section of this file"
    )
    arguments = parser.parse_args()
    turns = [abusive for _ in range(arguments.turns) for abusive in (0, arguments.abusive)]
    runs: dict[str, list[dict[str, Any]]] = {"alone": [], "with abusive clients": []}
    for abusive in track(turns, "running", console=Console(stderr=True)):
        told = run(arguments.displays, abusive, arguments.seconds)
        runs["with abusive clients" if abusive else "alone"].append(told)
    result = judge(runs, arguments.limit)
    here = machine()
    made = f"{datetime.now(UTC).date()}, {here.cpu}, {here.cores} cores"
    result |= {"displays": arguments.displays, "abusive": arguments.abusive, "made": made}
    write_json(arguments.json, result)
    if arguments.markdown:
        write(arguments.markdown, TITLE, section(result))
    show(result)
    return 0 if result["ok"] else 1


def run(displays: int, abusive: int, seconds: float) -> dict[str, Any]:
    """Run once; return what hub and displays told, the delivery times in milliseconds."""
    with ExitStack() as stack:

        def start(part: str, **options: object) -> Part:
            made = Part(f"crowd.{part}", **options)
            stack.callback(made.end)
            return made

        hub = start("hub", seconds=seconds)
        port = hub.told()["port"]
        hall = start("displays", port=port, number=displays)
        hall.told()
        if abusive:
            start("abusive_clients", port=port, number=abusive).told()
        hub.go()
        told = hub.told()
        hall.go()
        heard = hall.told()
    published = told.pop("published")
    missed = sum(len(published) - len(received) for received in heard["received"])
    delivery_ms = [
        (at_s - published[seq]) * 1000
        for received in heard["received"]
        for seq, at_s in received.items()
    ]
    return {**told, "lost": heard["lost"], "missed": missed, "delivery_ms": delivery_ms}


def judge(runs: dict[str, list[dict[str, Any]]], limit: float) -> dict[str, Any]:
    """Return the figures of each kind of run, the ratio of their p99, and whether that will do."""
    figures = {name: _figures(found) for name, found in runs.items()}
    alone, beset = (figures[name]["delivery_ms"]["p99"] for name in figures)
    ratio = round(beset / alone, 2)
    whole = not any(figure["missed"] or figure["lost"] for figure in figures.values())
    return {"figures": figures, "ratio": ratio, "limit": limit, "ok": whole and ratio <= limit}


def _figures(runs: list[dict[str, Any]]) -> dict[str, Any]:
    times = [ms for told in runs for ms in told["delivery_ms"]]
    took = spread(times)
    if took is None:
        raise SystemExit("No display got a caption.")
    summed = ("missed", "lost", "cut_off", "flooding", "wrong_tokens")
    return {
        "delivered": len(times),
        "delivery_ms": {"p50": took.p50, "p95": took.p95, "p99": took.p99, "most": took.max},
        "hub_cpu_share": round(float(np.mean([told["cpu_share"] for told in runs])), 3),
        **{key: int(sum(told[key] for told in runs)) for key in summed},
    }


def rows(result: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    figures = result["figures"]
    alone, beset = figures["alone"], figures["with abusive clients"]
    found = [["", *figures, "ratio"]]
    for name in alone["delivery_ms"]:
        pair = [each["delivery_ms"][name] for each in (alone, beset)]
        found.append([f"delivery {name}, ms", *map(str, pair), f"{pair[1] / pair[0]:.2f}"])
    counts = [key for key in alone if key != "delivery_ms"]
    return found + [[key.replace("_", " "), str(alone[key]), str(beset[key]), ""] for key in counts]


def section(result: dict[str, Any]) -> str:
    """Return the section of docs/BENCHMARKS.md."""
    of = f"{result['displays']} displays, {result['abusive']} abusive clients"
    return f"{TITLE}\n{PREFACE}\n{markdown(rows(result))}\n\n- {of}\n- {result['made']}\n"


def show(result: dict[str, Any]) -> None:
    """Print the table and the verdict."""
    show_table(rows(result))
    verdict = "ok" if result["ok"] else "FAILED"
    console.print(f"{verdict}: p99 with abusive clients is {result['ratio']} times that without")


class Part:
    """A process of the benchmark, which tells in lines of JSON and waits for empty lines."""

    def __init__(self, part: str, **options: object) -> None:
        """`part`: package and module under scripts.bench."""
        command = [sys.executable, "-m", f"scripts.bench.{part}"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self._in, self._out = (
            cast("IO[str]", self._process.stdin),
            cast("IO[str]", self._process.stdout),
        )

    def told(self) -> Any:
        """Wait for what it has to say."""
        line = self._out.readline()
        if not line:
            raise SystemExit(f"{self._process.args!r} ended with code {self._process.wait()}.")
        return orjson.loads(line)

    def go(self) -> None:
        """Let it go on."""
        self._in.write("\n")
        self._in.flush()

    def end(self) -> None:
        """Kill it, unless it has ended."""
        self._process.kill()
        self._process.wait()
        self._in.close()
        self._out.close()


if __name__ == "__main__":
    sys.exit(main())
