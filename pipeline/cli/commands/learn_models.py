"""The steps of `learn` that put models into service: compare, deploy, roll back."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress
from rich.table import Table
from rich.text import Text

from pipeline.cli.console import DESCRIPTION, Console
from pipeline.cli.options import Commands, Run, add_command, number, path, settings_of
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.learning.compare import (
    COMPARISONS,
    ModelComparison,
    compare_recognizers,
    compare_translators,
)
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.deploy import Deployment, deploy, rollback
from pipeline.learning.measuring import few_sentences, few_spoken, sentence_sets, sound_sets
from pipeline.learning.verdict import table_rows
from pipeline.models.registry import CAPTION_ROLES, KEYS, CaptionRole, Role

_PROMPT = "prompt style of a new Gemma (translate.final.prompt)"


def add_model_steps(steps: Commands) -> None:
    """Describe the steps."""
    says = "Compare a new model with the one in use; exit code 1: keep the old one, 2: error."
    step = _add_model_step(steps, "compare", _compare, says)
    # Otherwise the exit code of an error would look like a verdict.
    step.set_defaults(broken=2)
    option = step.add_argument
    option("old", help="name or path of the old model")
    option("new")
    says = "another test set: source, tab, target per line"
    option("--set", nargs="*", default=[], metavar="NAME=FILE", help=says)
    says = "folder of test sound with metadata.jsonl (stt)"
    option("--audio", type=path, metavar="DIR", help=says)
    says = "sentences per test set (all); few detect large losses only"
    option("--sentences", type=count_of, default=0, metavar="N", help=says)
    option("--prompt", default="", help=f"{_PROMPT}; as now")
    says = "Use a compared model from the next start on; the old one is kept."
    option = _add_model_step(steps, "deploy", _deploy, says).add_argument
    option("model", type=path, help="GGUF file or CTranslate2 folder")
    option("name", nargs="?", default="", help="name of the model (ours-ROLE-DATE)")
    option("--prompt", default="", help=f"{_PROMPT}; as it was compared")
    option("--force", action="store_true", help="deploy without a comparison in its favour")
    option("--dry-run", action="store_true", help="only say what would change")
    says = "Go back to the model before the last deploy, from the next start on."
    _add_model_step(steps, "rollback", _rollback, says)


def _add_model_step(steps: Commands, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    step = add_step(steps, name, run, says)
    says = "stt: recognizer, marian: drafts, gemma: finals (%(default)s)"
    step.add_argument("--role", choices=CAPTION_ROLES, default="gemma", help=says)
    step.add_argument("--models", metavar="DIR", help="folder of downloaded models")
    return step


def add_step(steps: Commands, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    """Add a step that works in the data folder."""
    parser = add_command(steps, name, run, says)
    parser.add_argument("--data", metavar="DIR", help="the data folder (learn.directory)")
    return parser


def opened(arguments: argparse.Namespace) -> tuple[Settings, DataFolder]:
    """Return the settings and the data folder. Raises ConfigError."""
    more = {"learn.directory": arguments.data} if arguments.data else {}
    settings = settings_of(arguments, more).settings
    return settings, DataFolder(Path(settings.learn.directory))


def progress() -> Progress:
    """Return a progress bar that is removed at its end."""
    return Progress(
        DESCRIPTION,
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )


count_of = number(int, 1, 1_000_000)
"""The type of an option that takes a count."""


def _compare(arguments: argparse.Namespace) -> int:
    # With the origins of the settings: they are loaded once more for each model.
    loaded, data = settings_of(arguments), opened(arguments)[1]
    translate, log = loaded.settings.translate, loaded.settings.log
    # The log of the engines while they load would hide the bar and the table.
    logs.configure_quietly(log.level, log.format)
    role: CaptionRole = arguments.role
    count: int = arguments.sentences
    models = (arguments.old, arguments.new)
    with progress() as bars:
        task = bars.add_task("answers", total=None)

        def answered() -> None:
            bars.update(task, advance=1)

        if role == "stt":
            sound = few_spoken(sound_sets(data, translate.source, arguments.audio), count)
            bars.update(task, total=len(sound))
            made = compare_recognizers(loaded, models, sound, on_answer=answered)
        else:
            split = (each.partition("=") for each in arguments.set)
            named = [(name, path(file or name)) for name, _, file in split]
            every = sentence_sets(data, (translate.source, translate.target), named)
            sets = few_sentences(every, count)
            bars.update(task, total=sum(len(each.sentences) for each in sets))
            asked = arguments.prompt
            made = compare_translators(loaded, role, models, sets, prompt=asked, on_answer=answered)
    made = replace(made, at_most=count)
    COMPARISONS.append(data, made)
    _show(made)
    return 0 if made.verdict == "deploy" else 1


def _show(made: ModelComparison) -> None:
    console = Console()
    table = Table(title=f"{made.new} against {made.old}", min_width=60)
    rows = table_rows(made.measured)
    for name in rows[0]:
        left = name in ("set", "measure", "verdict")
        table.add_column(name, justify="left" if left else "right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
    # Measured in turns on the same machine: only the ratio is valid elsewhere.
    if made.old_ms and made.new_ms and made.old_ms.p50:
        ratio = made.new_ms.p50 / made.old_ms.p50
        console.print(f"An answer takes {ratio:.2f} times as long (median, in turns).")
    if made.at_most:
        console.print(f"At most {made.at_most} of each set were asked.")
    console.print(f"{made.verdict}: {' '.join(made.words)}")


def _deploy(arguments: argparse.Namespace) -> int:
    loaded, data = settings_of(arguments), opened(arguments)[1]
    role: Role = arguments.role
    name = arguments.name or f"ours-{role}-{datetime.now(UTC):%Y-%m-%d}"
    order = partial(deploy, loaded, data, role, arguments.model, name, prompt=arguments.prompt)
    if arguments.dry_run:
        order(force=arguments.force, dry_run=True)
        print(f"{KEYS[role]} would become {name!r}. Nothing is changed (--dry-run).")
        return 0
    # One step at a time: a timer's cycle may use the data folder at the same time.
    with data.hold(), Console(stderr=True).status(Text(f"Copying {arguments.model}")):
        made = order(force=arguments.force)
    _say_switch(made, loaded.file)
    print(f"To go back: stark-translate learn rollback --role {role}")
    return 0


def _rollback(arguments: argparse.Namespace) -> int:
    loaded, data = settings_of(arguments), opened(arguments)[1]
    with data.hold():
        made = rollback(loaded, data, arguments.role)
    _say_switch(made, loaded.file)
    return 0


def _say_switch(made: Deployment, file: Path | None) -> None:
    for key, value in made.after.items():
        print(f"{key} = {value!r} in {file}; it was {made.before[key]!r}")
    print("The next start uses it; a running service goes on as it is.")
