"""Compare two builds of llama.cpp: what loading, reading and writing take, in turns.

    python -m scripts.bench.llama_builds FOLDER

FOLDER has the other build's libraries: `llama_cpp/lib` of another environment, or of a wheel that
is unpacked. Each round starts a process per build and number of threads. The best of all rounds
counts, since what other programs take from it can only make a figure worse.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.engines.llama_cpp.llama import Llama, kernels, library
from pipeline.models.resolve import resolve
from scripts.bench.machine import machine

TEXT = "In the beginning was the Word, and the Word was with God, and the Word was God. " * 6
READ, WRITTEN, REPEATS = 120, 40, 5
WHAT = {
    "start": "loading the library, ms",
    "load": "loading the model, ms",
    "read": f"reading {READ} tokens, ms",
    "write": "writing, tokens a second",
}


def main() -> None:
    """Measure and print a table; with --threads alone, measure this process's build once."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="the other build's libraries")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", type=Path, help="a GGUF file (default: the starter's)")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    model = options.model or resolve("gemma", "starter")
    if options.threads:
        print(json.dumps(measure(model, options.threads)))
        return
    if options.folder is None:
        parser.error("name the folder of the other build")
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    print("\n| threads | | this build | the other | ratio |\n|---|---|---|---|---|")
    for threads in (1, 2):
        rounds = [
            (run(model, threads, None), run(model, threads, options.folder))
            for _ in range(options.rounds)
        ]
        for key, name in WHAT.items():
            best = max if key == "write" else min
            own, other = (best(pair[side][key] for pair in rounds) for side in (0, 1))
            print(f"| {threads} | {name} | {own:.0f} | {other:.0f} | {own / other:.2f} |")
    print("\nKernels:", *(f"{side['kernels']}" for side in rounds[0]), sep="\n- ")


def run(model: Path, threads: int, folder: Path | None) -> dict[str, Any]:
    """Measure a build in a process of its own; None: the one that is installed."""
    command = [sys.executable, "-m", "scripts.bench.llama_builds", "--threads", str(threads)]
    environment = os.environ | ({"LLAMA_CPP_LIB_PATH": str(folder.resolve())} if folder else {})
    done = subprocess.run(
        [*command, "--model", str(model)], env=environment, stdout=subprocess.PIPE, check=True
    )
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])  # its log is before it
    return measured


def measure(model: Path, threads: int) -> dict[str, Any]:
    """Return the best times of a few repeats, in the units of `WHAT`, and the kernels in use."""
    began = time.perf_counter()
    library()
    started = time.perf_counter()
    llama = Llama(model, gpu_layers=0, threads=threads, context=512, batch=128)
    loaded = time.perf_counter()
    tokens = llama.tokenize(TEXT, special=False)[:READ]
    read, write = [], []
    for _ in range(REPEATS):
        llama.reset()
        begin = time.perf_counter()
        llama.prompt(tokens, lambda: None)
        read.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        for _ in range(WRITTEN):
            llama.feed([llama.best()[0]])
        write.append(time.perf_counter() - begin)
    return {
        "start": (started - began) * 1000,
        "load": (loaded - started) * 1000,
        "read": min(read) * 1000,
        "write": WRITTEN / min(write),
        "kernels": " ".join(name for name, value in kernels().items() if value == "1"),
    }


if __name__ == "__main__":
    main()
