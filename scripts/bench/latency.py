"""Measure the real program on recordings: how soon captions come, and how still they hold.

    python -m scripts.bench.latency                                   demo sermon and pauses, once
    python -m scripts.bench.latency --recording voices --recognizer whisper-base
    python -m scripts.bench.latency --runs 3 --input sermon.wav
    python -m scripts.bench.latency --against vad.silence_ms=600 --against vad.partial_ms=0

Each run is `stark-translate run` in a process of its own, in real time unless --pace fast, and a
display that listens. With --against a second setting is measured in turns with the first, in the
same sitting, and the table shows the ratio of the two: only that can be compared between machines.
With --markdown each recording has a section of its own for each recognizer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from pipeline.core.resources import bundled
from scripts.bench import recordings, report_section
from scripts.bench.live import LiveRun, run_live
from scripts.bench.live_figures import Figure, figures
from scripts.bench.recordings import Material
from scripts.bench.report_section import machine
from scripts.support.command import parser_of, says_errors, write_json

PREFACE = """
Made by `make bench` (`python -m scripts.bench.latency`): the real program in real time, and a
display that listens to it. "Detected" counts from the end of speech as the voice detector puts it,
"true" from the end of the last word in the reference to the caption on a display; "to glass" until
a phone's page in Chromium on the same machine has painted it. Erasure is words
that could be read and were taken back, for each word of the text that was left (normalized
erasure): before the final translator began, by it, and after a final (a caption that was opened
again). The projector's view is the stable text of partials, and finals. A word stands for good once
it is there and no later version changes it: as heard, counted from its own end in the recording; in
translation, word k of n counted from when k/n of the utterance were spoken; mean / p90 / p95.
LongYAAL is OmniSTEval's, computation aware. Compare the ratio of two settings measured in one
sitting; the seconds of two machines cannot be compared.
"""
_PRIVATE = "models.directory="
"""Where somebody keeps models is nobody's business."""


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Run, gather, print; return the exit code."""
    arguments = _arguments(argv)
    candidates, kept = _candidates(arguments), []
    with tempfile.TemporaryDirectory() as folder:
        for material in _materials(arguments, Path(folder)):
            runs = _run(material, candidates, arguments, Path(folder))
            told = {name: figures(found, material) for name, found in runs.items()}
            kept.append(_result(material, arguments.recognizer, candidates, told))
            show(kept[-1])
            if arguments.markdown:  # after each: a later one may fail, or take too long
                write(arguments.markdown, kept[-1])
    write_json(arguments.json, kept)
    return 0


def _candidates(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return the settings that are measured in turns, KEY=VALUE, by name."""
    own = list(arguments.set)
    if arguments.final_engine:
        own.append(f"translate.final.engine={arguments.final_engine}")
    if arguments.recognizer != "starter":
        own.append(f"stt.model={arguments.recognizer}")
    against = {"against": own + arguments.against} if arguments.against else {}
    return {"this": own, **against}


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=1, help="runs of each setting (default 1)")
    parser.add_argument("--recording", nargs="+", choices=["sermon", "pauses", "voices"],
                        default=["sermon", "pauses"], help="(default sermon pauses)")  # fmt: skip
    parser.add_argument("--voices", type=Path, default=bundled("demo", "voices"), metavar="FOLDER",
                        help="a folder with a voices.json (default demo/voices)")  # fmt: skip
    parser.add_argument("--input", type=Path, help="another recording, without a reference")
    parser.add_argument("--pace", choices=["realtime", "fast"], default="realtime")
    parser.add_argument("--recognizer", default="starter", help="as stt.model (default starter)")
    parser.add_argument("--final-engine", choices=["gemma", "marian"], help="who makes the finals")
    parser.add_argument("--glass", action="store_true",
                        help="open a phone's page in Chromium too")  # fmt: skip
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    parser.add_argument("--against", action="append", default=[], metavar="KEY=VALUE",
                        help="a setting of the second candidate")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file's sections")
    return parser.parse_args(argv)


def _materials(arguments: argparse.Namespace, folder: Path) -> list[Material]:
    if arguments.input:
        path = arguments.input
        return [Material(path.stem, path, (), "", 0.0)]
    made = {
        "sermon": lambda: recordings.demo("sermon"),
        "pauses": lambda: recordings.demo("pauses"),
        "voices": lambda: recordings.voices(arguments.voices, folder),
    }
    return [made[name]() for name in arguments.recording]


def _run(
    material: Material,
    candidates: dict[str, list[str]],
    arguments: argparse.Namespace,
    folder: Path,
) -> dict[str, list[LiveRun]]:
    found: dict[str, list[LiveRun]] = {name: [] for name in candidates}
    turns = [name for _ in range(arguments.runs) for name in candidates]
    for name in track(turns, f"running {material.name}", console=Console(stderr=True)):
        found[name].append(
            run_live(
                material.audio, arguments.pace, candidates[name], folder, with_glass=arguments.glass
            )
        )
    return found


def _result(
    material: Material,
    recognizer: str,
    candidates: dict[str, list[str]],
    told: dict[str, list[Figure]],
) -> dict[str, Any]:
    return {
        "recording": material.name,
        "recognizer": recognizer,
        "machine": machine(),
        "settings": candidates,
        "figures": {name: {each.name: each.values for each in row} for name, row in told.items()},
        "rows": rows(told),
    }


def rows(told: dict[str, list[Figure]]) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    both = len(told) == 2
    columns = [{figure.name: figure for figure in found} for found in told.values()]
    made = [["", *told, *(["ratio"] if both else [])]]
    for name in dict.fromkeys(name for column in columns for name in column):
        row = [column.get(name) for column in columns]
        cells = [name, *(figure.text if figure else "-" for figure in row)]
        made.append([*cells, _ratio(*row)] if both else cells)
    return made


def _ratio(this: Figure | None, against: Figure | None) -> str:
    """Return the second's first value for one of the first's."""
    if not (this and against and this.comparable and this.values and against.values):
        return ""
    old, new = this.values[0], against.values[0]
    return f"{new / old:.2f}" if old and new is not None else ""


def _notes(result: dict[str, Any]) -> list[str]:
    about = result["machine"]
    packages = ", ".join(f"{name} {about[name]}" for name in about if name not in {"date", "cpu"})
    named = [
        (name, ", ".join(s for s in of if not s.startswith(_PRIVATE)) or "the defaults")
        for name, of in result["settings"].items()
    ]
    return [
        f"{about['date']}, {about['cpu']}; {packages}",
        *(f"setting `{name}`: {settings}" for name, settings in named),
    ]


def title(result: dict[str, Any]) -> str:
    """Return the heading of a result's section."""
    return f"## Live: {result['recording']}, {result['recognizer']}"


def section(result: dict[str, Any], preface: str = "") -> str:
    """Return a result's section of docs/BENCHMARKS.md."""
    notes = "".join(f"- {note}\n" for note in _notes(result))
    return f"{title(result)}\n{preface}\n{report_section.markdown(result['rows'])}\n\n{notes}"


def write(file: Path, result: dict[str, Any]) -> None:
    """Put a result's section into a file in place of the one that it has had.

    The explanation of the figures stands under the first of these sections only.
    """
    preface = "" if report_section.is_explained(file, title(result), PREFACE) else PREFACE
    report_section.write(file, title(result), section(result, preface), behind="## Live: ")


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    report_section.show(result["rows"], title(result))
    Console().print("; ".join(_notes(result)), style="dim")


if __name__ == "__main__":
    sys.exit(main())
