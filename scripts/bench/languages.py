"""Measure the cost of further caption languages: one against several, alternately, in one sitting.

    python -m scripts.bench.languages
    python -m scripts.bench.languages --langs fr de pt --final gemma-3-270m-q4_k_m --prompt examples

Each run is `stark-translate run` on the demo sermon in real time. The first language has the
settings of this machine. The further languages share one final translator, which serves them in
turn, and have no drafts. Only the ratios can be compared between machines.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import orjson

from pipeline.models.resolve import resolve
from pipeline.session.reader import read_journal
from scripts.bench import recordings, report_section
from scripts.bench.live import LiveRun, run_in_turns
from scripts.support.command import add_settings, parser_of, says_errors

TITLE = "## Several languages"
PREFACE = """
Made by `make bench-languages`: the demo sermon in real time with one caption language and with
several. Finals count from the last syllable.
"""


class Cost(NamedTuple):
    """The cost of runs with a number of languages."""

    cpu: float
    """CPU seconds per second of audio."""
    recognizer_s: float
    """Seconds of the recognizer for whole utterances."""
    final_ms: float
    """Median time from the last syllable to the first language's final."""
    finals: dict[str, int]
    """Final captions by further language."""


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, judge; return the exit code."""
    arguments = _arguments(argv)
    material = recordings.demo("sermon")
    # Pass the model's file, since only its time matters: for a name, the registry knows the pairs
    # that it is good at. The path is absolute, since the program runs in another folder.
    arguments.final = str(resolve("gemma", arguments.final).absolute())
    candidates = {"one": arguments.set, "several": [*arguments.set, targets(arguments)]}
    with tempfile.TemporaryDirectory() as folder:
        runs = run_in_turns(material.audio, candidates, arguments.runs, Path(folder))
        one, several = (cost(runs[name], arguments.langs) for name in candidates)
    rows = table(one, several)
    report_section.show(rows, TITLE)
    langs, model = ", ".join(arguments.langs), Path(arguments.final).name
    notes = [
        f"{report_section.made()}; {arguments.runs} runs of each",
        f"further languages: {langs}, by {model}, prompt {arguments.prompt}",
    ]
    report_section.write(arguments.markdown, TITLE, rows, preface=PREFACE, notes=notes)
    return 0


def targets(arguments: argparse.Namespace) -> str:
    """Return the setting of the further languages."""
    final = {"model": arguments.final, "prompt": arguments.prompt}
    made = [
        {"lang": lang, "rest": False, "partial": {"engine": "none"}, "final": final}
        for lang in arguments.langs
    ]
    return f"translate.targets={orjson.dumps(made).decode()}"


def cost(runs: Sequence[LiveRun], langs: Sequence[str]) -> Cost:
    """Return the cost of the runs of one setting; there is at least one run."""
    shown = [record for run in runs for record in run.session.shown]
    delays = [record.last_syllable_to_final_ms for record in shown]
    recognized = [record.stt_ms for record in shown]
    return Cost(
        cpu=fmean(run.cpu for run in runs),
        recognizer_s=sum(each or 0.0 for each in recognized) / 1000 / len(runs),
        final_ms=median([each for each in delays if each is not None] or [0.0]),
        finals={lang: sum(_finals(run.folder, lang) for run in runs) for lang in langs},
    )


def _finals(folder: Path, lang: str) -> int:
    if not (folder / f"captions.{lang}.jsonl").exists():
        return 0
    return len({message.id for message in read_journal(folder, lang) if message.final})


def table(one: Cost, several: Cost) -> list[list[str]]:
    """Return the rows of the table, the heading first."""
    measured = [
        ("CPU, s/s", one.cpu, several.cpu),
        ("recognizer, s", one.recognizer_s, several.recognizer_s),
        ("first language's finals, ms", one.final_ms, several.final_ms),
    ]
    rows = [["", "one", str(1 + len(several.finals)), "ratio"]]
    for name, before, now in measured:
        ratio = f"{now / before:.2f}" if before else "-"
        rows.append([name, f"{before:.3g}", f"{now:.3g}", ratio])
    for lang, count in several.finals.items():
        rows.append([f"finals in {lang}", "-", str(count), ""])
    return rows


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=1, help="runs of each (default 1)")
    parser.add_argument("--langs", nargs="+", default=["fr", "de", "pt"], metavar="LANG",
                        help="the further languages (default fr de pt)")  # fmt: skip
    parser.add_argument("--final", default="starter", metavar="MODEL",
                        help="their final translator (default starter)")  # fmt: skip
    parser.add_argument("--prompt", default="starter", help="its prompt (default starter)")
    add_settings(parser)
    parser.add_argument("--markdown", type=Path, help="write the table into this file's section")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
