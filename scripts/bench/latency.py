"""Measure the real program on recordings: how soon captions come, and how stable they are.

    python -m scripts.bench.latency                                   demo sermon and pauses, once
    python -m scripts.bench.latency --recording voices --recognizer whisper-base
    python -m scripts.bench.latency --runs 3 --input sermon.wav
    python -m scripts.bench.latency --against vad.silence_ms=600 --against vad.partial_ms=0

Each run is `stark-translate run` in its own process, in real time, with a display that listens.
With --against a second setting is measured in alternation with the first, in the same session. The
table shows the ratio of the two; only the ratio can be compared between machines.
With --markdown there is a section for each recording and recognizer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.bench import recordings, report_section
from scripts.bench.live import run_in_turns
from scripts.bench.live_figures import Figure, figures
from scripts.bench.recordings import Material
from scripts.support.command import add_settings, parser_of, says_errors

PREFACE = """
Made by `make bench` (`python -m scripts.bench.latency`): the real program in real time, and a
display.

"Detected" counts from the detected end of speech, "true" from the end of the last word to the
caption on a display, "to glass" until a phone's page in Chromium has painted it. Erasure: words
taken back, for each word left. The projector shows the stable text of partials, and finals. A word
stands for good when no later version changes it: as heard, from its own end; in translation, word k
of n from when k/n of the utterance were spoken; mean / p90 / p95.
"""
_PRIVATE = "models.directory="
"""A private setting that is not published: the path of the user's models."""


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Run, gather, print; return the exit code."""
    arguments = _arguments(argv)
    candidates = _candidates(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = arguments.input
        materials = (
            [Material(given.stem, given, (), "", 0.0)]
            if given
            else (recordings.named(each, folder) for each in arguments.recording)
        )
        for material in materials:
            runs = run_in_turns(
                material.audio, candidates, arguments.runs, folder, with_glass=arguments.glass
            )
            table = rows({each: figures(found, material) for each, found in runs.items()})
            title = f"## Live: {material.name}, {arguments.recognizer}"
            report_section.show(table, title)
            # After each recording: a later one may fail, or take too long.
            write(arguments.markdown, title, candidates, table)
    return 0


def _candidates(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return the settings that are measured in alternation, KEY=VALUE, by name."""
    own = list(arguments.set)
    if arguments.recognizer != "starter":
        own.append(f"stt.model={arguments.recognizer}")
    against = {"against": own + arguments.against} if arguments.against else {}
    return {"this": own, **against}


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=1, help="runs of each setting (default 1)")
    parser.add_argument("--recording", nargs="+", choices=["sermon", "pauses", "voices"],
                        default=["sermon", "pauses"], help="(default sermon pauses)")  # fmt: skip
    parser.add_argument("--input", type=Path, help="another recording, without a reference")
    parser.add_argument("--recognizer", default="starter", help="as stt.model (default starter)")
    parser.add_argument("--glass", action="store_true",
                        help="open a phone's page in Chromium too")  # fmt: skip
    add_settings(parser)
    parser.add_argument("--against", action="append", default=[], metavar="KEY=VALUE",
                        help="a setting of the second candidate")  # fmt: skip
    parser.add_argument("--markdown", type=Path, help="write the tables into this file's sections")
    return parser.parse_args(argv)


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
    """Return the second candidate's first value divided by the first candidate's."""
    if not (this and against and this.values and against.values):
        return ""
    old, new = this.values[0], against.values[0]
    return f"{new / old:.2f}" if old and new is not None else ""


def write(
    file: Path | None,
    title: str,
    candidates: Mapping[str, Sequence[str]],
    table: Sequence[Sequence[str]],
) -> None:
    """Write the table and the candidates' settings into a file's section."""
    notes = [report_section.made("python", *report_section.PACKAGES)]
    for name, of in candidates.items():
        settings = ", ".join(s for s in of if not s.startswith(_PRIVATE)) or "the defaults"
        notes.append(f"setting `{name}`: {settings}")
    report_section.write(file, title, table, preface=PREFACE, notes=notes, explain_once=True)


if __name__ == "__main__":
    sys.exit(main())
