"""What it costs that each engine runs in a process of its own.

    python -m scripts.bench.engine_process
    python -m scripts.bench.engine_process --turns 5 --markdown docs/BENCHMARKS.md

The demo sermon's sentences go through each engine of the settings, in turns in this process and in
one of its own. "Added" is measured in the same call: all that it took here less what the engine
took there, so other programs' work falls on both. Ends with 1 if more than --limit ms are added to
the worst utterance of a hundred, by all three engines together.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.percentiles import nearest_rank
from pipeline.engines.process import factory
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.process.making import make
from pipeline.engines.specification import FINAL, QUICK, EngineSpec, Part
from pipeline.tuning.hardware import machine
from pipeline.tuning.workload import Job, hearing, quick_translating, translating
from scripts.bench.report_section import markdown, write
from scripts.bench.report_section import show as show_table

TITLE = "## Engines in processes of their own"
PREFACE = """
Made by `make bench-processes`: the demo sermon's sentences through each engine, in turns in the
benchmark's own process and in one of its own. Milliseconds are p50 / p99. "Added" is, call by call,
what it took beyond the engine's own time in the other process: the way there and back.
"""


@dataclass
class Engine:
    """An engine here, the same in a process of its own, and what was measured."""

    name: str
    here: Any
    process: EngineProcess
    jobs: Sequence[Job]
    here_ms: list[float] = field(default_factory=list)
    process_ms: list[float] = field(default_factory=list)
    added_ms: list[float] = field(default_factory=list)

    def turn(self) -> None:
        """Do every job once here and once there."""
        for job in self.jobs:
            self.here_ms.append(took_ms(job, self.here))
            self.process_ms.append(took_ms(job, self.process))
            self.added_ms.append(self.process.added_s * 1000)


def took_ms(job: Job, engine: object) -> float:
    """Return how long a job took, in milliseconds."""
    start_s = time.perf_counter()
    job.do(engine)
    return (time.perf_counter() - start_s) * 1000


def engines(settings: Settings) -> list[Engine]:
    """Return the engines that the settings ask for, loaded."""
    recognizer = factory.recognizer_process(settings, restarts=False)
    found = [made("recognizer", recognizer, finals(hearing(settings).jobs))]
    translators: list[tuple[str, EngineSpec | None, Part, Sequence[Job]]] = [
        ("quick", factory.partial_spec(settings), QUICK, quick_translating(settings).jobs),
        ("final", factory.final_spec(settings), FINAL, translating().jobs),
    ]
    for name, spec, part, jobs in translators:
        process = factory.translator_process(settings, spec, part, restarts=False)
        if process is not None:
            found.append(made(f"{name} translator", process, finals(jobs)))
    return found


def finals(jobs: Sequence[Job]) -> list[Job]:
    """Return the work on whole utterances."""
    return [job for job in jobs if job.final]


def made(name: str, process: EngineProcess, jobs: Sequence[Job]) -> Engine:
    """Return an engine that is loaded here and there."""
    here: Any = make(process.spec)
    here.load()
    if process.part is FINAL:
        here.deadline_s = process.deadline_s = 120.0  # type: ignore[attr-defined]
    process.load()
    return Engine(name, here, process, jobs)


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3, help="times through the sermon (3)")
    parser.add_argument("--limit", type=float, default=2.0, help="ms that may be added at p99 (2)")
    parser.add_argument("--markdown", type=Path, help="write the table into this file's section")
    arguments = parser.parse_args()
    logs.configure("warning", "auto")
    measured = engines(load().settings)
    try:
        for _ in track(range(arguments.turns), "measuring", console=Console(stderr=True)):
            for engine in measured:
                engine.turn()
    finally:
        for engine in measured:
            engine.process.close()
    # A call of each engine makes an utterance; which text it was does not change what is added.
    utterances_ms = [sum(each) for each in zip(*(e.added_ms for e in measured), strict=False)]
    added = nearest_rank(sorted(utterances_ms), 0.99)
    table = [row(engine) for engine in measured]
    show(table, added, arguments.limit)
    if arguments.markdown:
        write(arguments.markdown, TITLE, section(table, added))
    return 0 if added <= arguments.limit else 1


HEAD = ("engine", "in the benchmark's process", "in its own", "added", "calls")


def row(engine: Engine) -> tuple[str, ...]:
    """Return the engine's line of the table."""
    columns = (engine.here_ms, engine.process_ms, engine.added_ms)
    return (engine.name, *map(p50_p99, columns), str(len(engine.added_ms)))


def p50_p99(values: Sequence[float]) -> str:
    """Return both in words."""
    ordered = sorted(values)
    return f"{nearest_rank(ordered, 0.50):.2f} / {nearest_rank(ordered, 0.99):.2f}"


def show(table: Sequence[tuple[str, ...]], added: float, limit: float) -> None:
    """Print the table and the verdict."""
    show_table([HEAD, *table])
    verdict = "ok" if added <= limit else "FAILED"
    print(f"{verdict}: {added:.2f} ms added to an utterance at p99, {limit:g} allowed")


def section(table: Sequence[tuple[str, ...]], added: float) -> str:
    """Return the section of the document."""
    lines = [
        TITLE,
        PREFACE,
        markdown([HEAD, *table]),
        "",
        f"- {added:.2f} ms added to an utterance at p99, all three engines together; 2 ms allowed",
        f"- {datetime.now(UTC):%Y-%m-%d}, {machine().cpu}, {machine().cores} cores",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
