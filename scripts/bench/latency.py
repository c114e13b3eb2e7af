"""Measure the real program on a recording: where the time between voice and caption goes.

    python -m scripts.bench.latency                                  the demo sermon, once
    python -m scripts.bench.latency --runs 3 --input sermon.wav
    python -m scripts.bench.latency --against translate.final.engine=marian

Each run is `stark-translate run` in a process of its own, in real time unless --pace fast. With
--against a second setting is measured in turns with the first, in the same sitting, and the table
shows the ratio of the two: only that can be compared between machines.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pipeline.core.percentiles import spread
from scripts.support.paths import ROOT

MEASURES = {
    "last syllable to final": "last_syllable_to_final_ms",
    "last syllable to partial": "last_syllable_to_partial_ms",
    "voice detector's wait": "vad_wait_ms",
    "recognizer, waiting": "stt_busy_ms",
    "recognizer": "stt_ms",
    "quick translator": "partial_ms",
    "final translator, waiting": "final_busy_ms",
    "final translator": "final_ms",
    "outside the engines": "overhead_ms",
}
PREFACE = """# Benchmarks

Made by `make bench`: the real program on the demo sermon, in real time. Milliseconds are
p50 / p95 / p99 over all utterances. Latency counts from the last syllable, as the voice detector
puts it, and includes its wait for the pause. Compare the ratio of two settings measured in one
sitting; milliseconds of two machines cannot be compared.
"""
PACKAGES = ("faster-whisper", "ctranslate2", "llama-cpp-python", "onnxruntime")


def main() -> int:
    """Run, gather, print; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1, help="runs of each setting (default 1)")
    parser.add_argument("--input", type=Path, default=ROOT / "demo" / "sermon.flac")
    parser.add_argument("--pace", choices=["realtime", "fast"], default="realtime")
    parser.add_argument("--final-engine", choices=["gemma", "marian"], help="who makes the finals")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    parser.add_argument("--against", action="append", default=[], metavar="KEY=VALUE",
                        help="a setting of the second candidate")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--markdown", type=Path, help="write the table into this file")
    arguments = parser.parse_args()
    if arguments.final_engine:
        arguments.set.append(f"translate.final.engine={arguments.final_engine}")
    candidates = {"this": arguments.set}
    if arguments.against:
        candidates["against"] = arguments.set + arguments.against
    turns = [name for _ in range(arguments.runs) for name in candidates]
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in candidates}
    with tempfile.TemporaryDirectory() as folder:
        for name in track(turns, "running", console=Console(stderr=True)):
            records[name] += run(arguments.input, arguments.pace, candidates[name], Path(folder))
    figures = {name: summarize(found) for name, found in records.items()}
    result = {"machine": machine(), "settings": candidates, "figures": figures}
    if arguments.json:
        arguments.json.write_bytes(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    rows = table(result)
    if arguments.markdown:
        text = arguments.markdown.read_text() if arguments.markdown.exists() else ""
        arguments.markdown.write_text(markdown(result, rows) + other_sections(text))
    show(result, rows)
    return 0


def run(audio: Path, pace: str, settings: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Run the program once; return its utterance and health records."""
    # The starter, whatever has been pulled here, unless --set names another recognizer.
    environment = {"STARK_TRANSLATE__STT__MODEL": "starter"} | dict(os.environ)
    for setting in settings:
        key, _, value = setting.partition("=")
        environment["STARK_TRANSLATE__" + key.replace(".", "__").upper()] = value
    command = [sys.executable, "-m", "pipeline", "run", "--input", str(audio.resolve())]
    command += ["--pace", pace, "--port", "0", "--sessions", str(folder), "--log-level", "error"]
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    session = max(folder.glob("2*"), key=lambda path: path.stat().st_mtime)
    return [
        orjson.loads(line) for line in (session / "diagnostics.jsonl").read_bytes().splitlines()
    ]


def summarize(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return p50, p95 and p99 of every measure (milliseconds), and the rest of the figures."""
    utterances = [r for r in records if r["type"] == "utterance" and r["final"] is not None]
    spreads = {}
    for name, key in MEASURES.items():
        if took := spread(r.get(key) for r in utterances):
            spreads[name] = [took.p50, took.p95, took.p99]
    whole_ms = sum(r["last_syllable_to_final_ms"] - r["vad_wait_ms"] for r in utterances)
    outside_ms = sum(r["overhead_ms"] for r in utterances)
    speeds = [r["final"]["tokens_per_s"] for r in utterances if r["final"]["tokens_per_s"]]
    memory = [r["memory_mb"] for r in records if r["type"] == "health"]
    return {
        "utterances": len(utterances),
        "milliseconds": spreads,
        "share_outside_engines": round(outside_ms / whole_ms, 4) if whole_ms else None,
        "final_tokens_per_s": round(float(np.median(speeds)), 1) if speeds else None,
        "memory_mb": max(memory, default=None),
    }


def machine() -> dict[str, str]:
    """Return what the figures were measured on."""
    cpu = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.processor(),
    )  # fmt: skip
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def table(result: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    figures = result["figures"]
    both = len(figures) == 2
    rows = [["", *figures, *(["ratio of p50"] if both else [])]]
    for name in MEASURES:
        spreads = [figures[each]["milliseconds"].get(name) for each in figures]
        row = [f"{name}, ms", *(_spread(spread) for spread in spreads)]
        if both:
            known = spreads[0] and spreads[1] and spreads[0][0]
            row.append(f"{spreads[1][0] / spreads[0][0]:.2f}" if known else "-")
        rows.append(row)
    for key in ("utterances", "share_outside_engines", "final_tokens_per_s", "memory_mb"):
        cells = [str(figures[each][key]) for each in figures]
        rows.append([key.replace("_", " "), *cells, *([""] if both else [])])
    return rows


def _spread(spread: Sequence[float] | None) -> str:
    return " / ".join(f"{ms:.{0 if ms >= 100 else 1}f}" for ms in spread) if spread else "-"


def _notes(result: dict[str, Any]) -> list[str]:
    notes = [f"{key}: {value}" for key, value in result["machine"].items()]
    named = [(name, ", ".join(of) or "the defaults") for name, of in result["settings"].items()]
    return notes + [f"setting `{name}`: {settings}" for name, settings in named]


def markdown(result: dict[str, Any], rows: list[list[str]]) -> str:
    """Return docs/BENCHMARKS.md."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    rule = "|---" * len(rows[0]) + "|"
    notes = "".join(f"- {note}\n" for note in _notes(result))
    return f"{PREFACE}\n{head}\n{rule}\n" + "\n".join(body) + f"\n\n{notes}"


def other_sections(text: str) -> str:
    """Return what other benchmarks have written below ours."""
    _, mark, rest = text.partition("\n## ")
    return mark + rest


def show(result: dict[str, Any], rows: list[list[str]]) -> None:
    """Print the table."""
    head, *body = rows
    printed = Table(*head)
    for row in body:
        printed.add_row(*row)
    console = Console()
    console.print(printed)
    console.print("; ".join(_notes(result)), style="dim")


if __name__ == "__main__":
    sys.exit(main())
