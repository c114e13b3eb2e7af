"""Measure how soon captions reach 450 displays, alone and with 50 abusive clients among them.

    python -m scripts.bench.crowd --markdown docs/BENCHMARKS.md        two runs of a minute

The real hub is one process, the displays another, the abusive clients a third; each client has its
own address. Delivery lasts from the publication of a caption until a display has its bytes. It
includes the displays' own work, the same in both runs. Half of the abusive clients never read; the
others send garbage or too much at full speed, open and close, drip their request, or guess tokens.
Ends with 1 if a display misses a caption, or if p99 with abusive clients is over twice that
without.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self, cast

import orjson

from pipeline.core.percentiles import spread
from scripts.bench.report_section import made, show, write
from scripts.support.command import parser_of, progress
from scripts.support.paths import ROOT

TITLE = "## A full hall, and abusive clients in it"
PREFACE = """
Made by `make crowd`: milliseconds from publishing a caption until a display has it.
"""
P99 = "delivery p99, ms"
_LIMIT = 2.0
"""The limit of p99 with abusive clients, as a multiple of p99 without them."""


def main() -> int:
    """Run, judge, write; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--displays", type=int, default=450, help="that behave (default 450)")
    parser.add_argument("--abusive", type=int, default=50, help="... that do not (default 50)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of captions (default 60)")
    parser.add_argument("--markdown", type=Path, help="write the table into this file's section")
    arguments = parser.parse_args()
    alone, beset = (
        run(arguments.displays, abusive, arguments.seconds)
        for abusive in progress((0, arguments.abusive), "running")
    )
    lines = rows(alone, beset)
    show(lines)
    of = f"{arguments.displays} displays, {arguments.abusive} abusive clients"
    write(arguments.markdown, TITLE, lines, preface=PREFACE, notes=[of, made()])
    problems = judge(alone, beset)
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


def run(displays: int, abusive: int, seconds: float) -> dict[str, float]:
    """Run once; return the figures by their names in the table."""
    with ExitStack() as stack:
        hub = stack.enter_context(Part("crowd.hub", seconds=seconds))
        port = hub.told()["port"]
        hall = stack.enter_context(Part("crowd.displays", port=port, number=displays))
        hall.told()
        if abusive:
            clients = Part("crowd.abusive_clients", port=port, number=abusive)
            stack.enter_context(clients).told()
        hub.go()
        served = hub.told()
        hall.go()
        heard = hall.told()
    published = served.pop("published")
    missed = sum(len(published) - len(received) for received in heard["received"])
    took = spread(
        (at_s - published[seq]) * 1000
        for received in heard["received"]
        for seq, at_s in received.items()
    )
    if took is None:
        raise SystemExit("No display got a caption.")
    return {
        "delivery p50, ms": took.p50,
        "delivery p95, ms": took.p95,
        "delivery p99, ms": took.p99,
        "delivery most, ms": took.max,
        "delivered": took.count,
        "hub cpu share": round(served["cpu_share"], 3),
        "missed": missed,
        "lost": heard["lost"],
        **{key.replace("_", " "): served[key] for key in ("cut_off", "flooding", "wrong_tokens")},
    }


def judge(alone: dict[str, float], beset: dict[str, float]) -> list[str]:
    """Return the problems as sentences."""
    ratio = beset[P99] / alone[P99]
    wrong = [f"{key}: {each[key]:g}" for each in (alone, beset) for key in ("missed", "lost")
             if each[key]]  # fmt: skip
    late = f"p99 with abusive clients is {ratio:.2f} times that without."
    return wrong + ([late] if ratio > _LIMIT else [])


def rows(alone: dict[str, float], beset: dict[str, float]) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    found = [["", "alone", "with abusive clients", "ratio"]]
    for name, before in alone.items():
        ratio = f"{beset[name] / before:.2f}" if name.endswith(", ms") else ""
        found.append([name, f"{before:.10g}", f"{beset[name]:.10g}", ratio])
    return found


class Part:
    """A process of the benchmark that reports in lines of JSON and waits for empty lines.

    A context manager: at its end the process is killed, unless it has ended.
    """

    def __init__(self, part: str, **options: object) -> None:
        """Start it; `part` is a package and module under scripts.bench."""
        command = [sys.executable, "-m", f"scripts.bench.{part}"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self._in = cast("IO[str]", self._process.stdin)
        self._out = cast("IO[str]", self._process.stdout)

    def told(self) -> Any:
        """Wait for its next report."""
        line = self._out.readline()
        if not line:
            raise SystemExit(f"{self._process.args!r} ended with code {self._process.wait()}.")
        return orjson.loads(line)

    def go(self) -> None:
        """Let it continue."""
        self._in.write("\n")
        self._in.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._in.close()
        self._out.close()


if __name__ == "__main__":
    sys.exit(main())
