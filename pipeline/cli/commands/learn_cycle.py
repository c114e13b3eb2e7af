"""The steps of `learn` that make its rhythm: `focus` and `cycle`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from rich.console import Console

from pipeline.cli.commands.learn_models import add_step, opened
from pipeline.cli.options import Commands
from pipeline.learning.cycle import config_options, is_serving, keep_focus, plan, run
from pipeline.learning.focus import Focus

_SHOWN = 10


def add_cycle_steps(steps: Commands) -> None:
    """Describe the steps."""
    add_step(steps, "focus", _focus, "Say what to look at next: terms, a speaker, captions.")
    says = "Run the steps that are due: collect and focus; with --train also training."
    step = add_step(steps, "cycle", _cycle, says)
    step.add_argument(
        "--train", action="store_true", help="also train and compare; nothing is deployed"
    )
    step.add_argument("--if-quiet", action="store_true", help="do nothing while a service runs")
    step.add_argument("--dry-run", action="store_true", help="only print the steps")


def _focus(arguments: argparse.Namespace) -> int:
    _, data = opened(arguments)
    with data.hold():
        found = keep_focus(data)
    _tell(found)
    return 0


def _tell(found: Focus) -> None:
    console = Console(highlight=False)
    for each in found.terms:
        said = f"{each.term}: misheard {each.misheard} of {each.said} times"
        console.print(said, markup=False)
    if found.speaker is not None:
        who = found.speaker
        said = f"{who.speaker} is heard worst: confidence {who.confidence:.2f} on average"
        console.print(said, markup=False)
    console.print(f"To review: {len(found.review)} of {found.captions} captions", markup=False)
    for worst in found.review[:_SHOWN]:
        said = f"  {worst.session_id} {worst.id} ({worst.score:.2f}) {worst.text}"
        console.print(said, markup=False, overflow="ellipsis", no_wrap=True)


def _cycle(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    directory = Path(settings.session.directory)
    due = plan(settings, data.path, train=arguments.train)
    options = config_options(arguments.config)
    if arguments.dry_run:
        for step in due:
            print(shlex.join(("stark-translate", *step.words, *options)))
        return 0
    if arguments.if_quiet and is_serving(directory):
        print("A service is going on: nothing is done.")
        return 0
    failed = run(
        due,
        options,
        directory=directory,
        # At once: what follows is printed by another process.
        on_step=lambda step: print(f"{' '.join(step.words)}", flush=True),
    )
    for step in failed:
        print(f"failed: stark-translate {shlex.join(step.words)}")
    return 1 if failed else 0
