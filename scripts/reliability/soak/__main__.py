"""Hours of sermon, music, silence, noise and loose cables through the real program, sped up.

    python -m scripts.reliability.soak --hours 8 --speed 16 --out soak/    half an hour of real time
    python -m scripts.reliability.soak --hours 0.5 --speed 1               in real time

Some displays stay, some come and go, and some never read. Memory, threads, handles and latency are
sampled. The soak fails if one of them grows, a record is dropped or an utterance has no end. Writes
soak.json and soak.png.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.progress import Progress

from pipeline.server.routes import DOWN
from scripts.bench import report_section
from scripts.reliability.soak.displays import Displays
from scripts.reliability.soak.verdict import judge
from scripts.support.command import parser_of, write_json
from scripts.support.program import Program, started_module

_EVERY_S = 2.0
console = Console()


def main() -> int:
    """Soak, judge, write; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--hours", type=float, default=8.0, help="of the scenario (default 8)")
    parser.add_argument("--speed", type=float, default=16.0, help="times its pace (default 16)")
    parser.add_argument("--staying", type=int, default=20, help="displays that stay (default 20)")
    parser.add_argument("--changing", type=int, default=10, help="... that come and go")
    parser.add_argument("--unread", type=int, default=3, help="... that never read")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="folder (default soak)")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(soak(arguments, Path(folder)))
    write_json(arguments.out / "soak.json", result)
    plot(result, arguments.out / "soak.png")
    show(result)
    return 0 if result["ok"] else 1


async def soak(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run the program to the end of its scenario and return the samples and results."""
    service = "scripts.reliability.soak.service"
    options = ["--sessions", str(folder), "--hours", str(arguments.hours)]
    options += ["--speed", str(arguments.speed)]
    with started_module(service, *options, cwd=folder) as program:
        displays = Displays(
            program.address,
            staying=arguments.staying,
            changing=arguments.changing,
            unread=arguments.unread,
        )
        people = asyncio.create_task(displays.attend())
        samples = await _sample(program, arguments.hours)
        code = program.end()
        people.cancel()
        await asyncio.gather(people, return_exceptions=True)
    return {
        "hours": arguments.hours,
        "speed": arguments.speed,
        "exit_code": code,
        "visits": displays.visits,
        "captions_received": displays.captions,
        "unread_cut_off": displays.cut_off,
        "log": [*program.log, *program.noise][-20:],
        **_result(samples, program, code),
    }


async def _sample(program: Program, hours: float) -> list[dict[str, float]]:
    samples: list[dict[str, float]] = []
    began_s = time.monotonic()
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("soaking", total=hours)
        while program.process.poll() is None:
            try:
                health = await asyncio.to_thread(program.health)
                if health["state"] in DOWN:  # without sound, or at the end
                    await asyncio.sleep(_EVERY_S)
                    continue
                every = program.processes
                sample = {
                    "hours": health["audio_s"] / 3600,
                    "real_s": round(time.monotonic() - began_s, 1),
                    # The daemon and its engines' processes together.
                    "memory_mb": sum(each.memory_info().rss for each in every) / 1e6,
                    "threads": sum(each.num_threads() for each in every),
                    "handles": sum(each.num_fds() for each in every),
                    "lag_s": health["lag_s"],
                    "clients": sum(health["clients"].values()),
                }
            except (OSError, psutil.Error):  # the program is ending or too busy to answer
                pass
            else:
                samples.append(sample)
                progress.update(bar, completed=sample["hours"])
            await asyncio.sleep(_EVERY_S)
    return samples


def _result(samples: list[dict[str, float]], program: Program, code: int) -> dict[str, Any]:
    spoken, events = program.records("utterance"), program.records("event")
    utterances = [
        (record["end_s"] / 3600, record["last_syllable_to_final_ms"])
        for record in spoken
        if record["last_syllable_to_final_ms"] is not None
    ]
    end = next(each for each in reversed(events) if each["event"] == "end")
    summary = program.records("summary")[-1]
    courses = judge(samples, utterances)
    ok = all(course["ok"] for course in courses.values())
    return {
        "ok": ok and code == 0 and not summary["dropped"]["records"] and not end["unfinished"],
        "real_minutes": round(samples[-1]["real_s"] / 60, 1),
        "utterances": len(spoken),
        "finals": len(utterances),
        "unfinished": end["unfinished"],
        "dropped": summary["dropped"],
        "faults": summary["faults"],
        "unplugged": sum(each["event"] == "source" and each["lost"] for each in events),
        "courses": courses,
        "samples": samples,
        "latency": utterances,
    }


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw memory, threads and handles, and latency over the hours."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (memory, handles, latency) = plt.subplots(3, 1, sharex=True, figsize=(9, 8))
    hours = [sample["hours"] for sample in result["samples"]]
    memory.plot(hours, [sample["memory_mb"] for sample in result["samples"]])
    memory.set_ylabel("memory, MB")
    memory.set_ylim(bottom=0)
    for name in ("handles", "threads", "clients"):
        handles.plot(hours, [sample[name] for sample in result["samples"]], label=name)
    handles.set_ylim(bottom=0)
    handles.legend()
    when, ms = zip(*result["latency"], strict=True)
    latency.plot(when, ms, ",")
    latency.set_ylabel("last syllable to final, ms")
    latency.set_ylim(0, 2000)
    latency.set_xlabel("hours of the scenario")
    figure.suptitle(f"{result['hours']:g} hours at {result['speed']:g} times the pace")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def show(result: dict[str, Any]) -> None:
    """Print the verdict."""
    rows = [["figure", "median", "grown", "allowed", ""]]
    for name, course in result["courses"].items():
        figures = (f"{course[key]:g}" for key in ("median", "grown", "allowed"))
        rows.append([name, *figures, "ok" if course["ok"] else "GROWS"])
    report_section.show(rows)
    shown = [
        *("exit_code", "real_minutes", "utterances", "finals", "unfinished", "unplugged"),
        *("visits", "captions_received", "unread_cut_off", "dropped", "faults"),
    ]
    console.print({key: result[key] for key in shown})
    console.print("ok" if result["ok"] else "FAILED")


if __name__ == "__main__":
    sys.exit(main())
