"""Measure the starter models as they are committed, through the public API of their libraries.

    python -m training.evaluate.evaluate --bible FILE --tatoeba FILE \\
        [--only stt|marian|gemma] [--target es fr --target-bible FILE]

Prints the Markdown table that MODEL_CARD.md repeats. Needs no torch.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

from scripts.support.paths import ROOT
from training.data import corpora

MODELS = ROOT / "models" / "starter"
# A part is a module with `rows`; it is imported only when requested.
PARTS = {"stt": "stt_evaluation", "marian": "marian_evaluation", "gemma": "gemma_evaluation"}

Row = tuple[str, str, str]
"""Model, what was measured, value with its unit."""


class Part(Protocol):
    """The interface of each evaluation module."""

    @staticmethod
    def rows(directory: Path, split: corpora.Split, threads: int) -> Iterator[Row]:
        """Measure the model in `directory` on held-out data."""


def size_of(directory: Path) -> str:
    """Return the size of all files in a folder, in MB of a million bytes."""
    return f"{sum(f.stat().st_size for f in directory.rglob('*') if f.is_file()) / 1e6:.1f} MB"


def main() -> None:
    """Print the table line by line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpora.add_options(parser)
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the three models")
    parser.add_argument("--only", choices=tuple(PARTS), help="one model instead of all three")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    splits = corpora.splits_of(options)
    print("| Model | Measured | Value |\n|---|---|---|")
    for name in [options.only] if options.only else PARTS:
        part = cast("Part", importlib.import_module(f"{__package__}.{PARTS[name]}"))
        for split in splits[:1] if name == "stt" else splits:
            for row in part.rows(options.models / name, split, options.threads):
                print(f"| {' | '.join(row)} |", flush=True)
    if not options.only:
        print(f"| all | size | {size_of(options.models)} |")


if __name__ == "__main__":
    main()
