"""`tune`: measure this machine and recommend settings for config.toml."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pipeline.cli.console import Console
from pipeline.cli.options import Commands, add_command, print_json, settings_of
from pipeline.config.editor import section, toml, write
from pipeline.config.loader import Loaded, file_in_force
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.processes import lower_priority
from pipeline.models.automatic import FOR_PEOPLE, models_in_use, remember
from pipeline.models.registry import CAPTION_ROLES, KEYS, Role
from pipeline.tuning.hardware import ExternalLoad, machine
from pipeline.tuning.plan import BUSY, TOO_BUSY, Machine, Value, Values
from pipeline.tuning.trials import Tuned, Tuning, conclude

_SAYS = "Measure the best settings for this machine: threads, GPU, draft."
_EPILOG = """\
examples:
  stark-translate tune                                     measure, and print the settings
  stark-translate tune --write                             ... and put them into config.toml
  stark-translate tune --gemma translategemma-4b-q4_k_m    would this model keep up?

It takes a few minutes with nothing else running, longer with large models; --quick is rougher.
Ctrl-C ends it with what it has by then. A copy of config.toml is kept before it is changed.
Compiled here, llama.cpp wrote an eighth faster with two threads: docs/MODELS.md has the command.
exit codes: 0 all keeps up, 1 something does not, or it was ended early
"""
_LIMIT_S, _QUICK_S = 6.0, 1.5
_NICE = 5
_BUSY_SAYS = (
    "This machine is busy ({:.0%} of the processor is taken): the figures will look worse than it "
    "is. Close what else runs, and repeat."
)


def add(commands: Commands) -> None:
    parser = add_command(commands, "tune", _tune, _SAYS, _EPILOG)
    parser.add_argument("--write", action="store_true", help="write the result into config.toml")
    parser.add_argument(
        "--quick", action="store_true", help="less accurate, in a quarter of the time"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    for role, says in FOR_PEOPLE.items():
        parser.add_argument(f"--{role}", metavar="MODEL", help=f"{says}: measure this model")


def _tune(arguments: argparse.Namespace) -> int:
    models: dict[str, Value] = {
        KEYS[role]: getattr(arguments, role) for role in CAPTION_ROLES if getattr(arguments, role)
    }
    loaded = settings_of(arguments, models)
    logs.configure(loaded.settings.log.level, loaded.settings.log.format)
    # The bar goes to standard error: with --json standard output is one object.
    console, status = Console(quiet=arguments.json), Console(stderr=True)
    lower_priority(_NICE)  # a service on the same machine comes first
    # Other programs are watched to the end: one that starts later also spoils the figures.
    here, others = machine(), ExternalLoad()
    if here.busy > BUSY:
        status.print(Text(_BUSY_SAYS.format(here.busy), "yellow"))
    done, complete = _try_all(loaded, here, _QUICK_S if arguments.quick else _LIMIT_S, status)
    here = replace(here, busy=others.share())
    tuned = conclude(done, loaded.settings, here, complete=complete)
    _show(console, tuned)
    _remember(tuned, loaded.settings)
    changes = models | dict(tuned.changes)
    written: dict[str, str] = {}
    if arguments.write:
        written = _write(console, tuned, changes, arguments.config, loaded)
    if arguments.json:
        print_json({"ok": tuned.ok, **asdict(tuned), "changes": changes, **written})
    return 0 if tuned.ok else 1


def _try_all(loaded: Loaded, here: Machine, limit_s: float, status: Console) -> tuple[Tuning, bool]:
    """Run all trials, or those before Ctrl-C; return whether all were run."""
    columns = (
        TextColumn("{task.description:<44}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
    )
    with Progress(*columns, TimeElapsedColumn(), console=status, transient=True) as progress:
        # The number of trials is known only after the models' files were read.
        task = progress.add_task("loading", total=None)

        def begin(role: Role, values: Values) -> None:
            progress.update(task, description=f"{FOR_PEOPLE[role]}: {_words(values)}")

        done = Tuning(loaded.settings, here, limit_s=limit_s, begin=begin)
        try:
            plan = {role: done.steps(role) for role in done.roles}
            total = sum(len(step.alternatives) for steps in plan.values() for step in steps)
            progress.update(task, total=total)
            passed = 0
            for role, steps in plan.items():
                for _ in done.run(role):
                    progress.advance(task)
                passed += sum(len(step.alternatives) for step in steps)
                progress.update(task, completed=passed)  # some steps make no difference on a GPU
        # The measurements so far are right; `conclude` says that they are not all.
        except KeyboardInterrupt:
            return done, False
    return done, True


def _show(console: Console, tuned: Tuned) -> None:
    if not tuned.complete:
        console.print(Text("Ended early: this is what was measured by then.", "yellow"))
    words: dict[str, str] = dict(FOR_PEOPLE.items())
    verdicts = Table.grid(padding=(0, 2))
    for verdict in tuned.verdicts:
        word, style = ("ok", "green") if verdict.ok else ("NO", "bold red")
        if verdict.ok and verdict.fix:
            word, style = "look", "yellow"
        what = Text(words.get(verdict.what, verdict.what), "bold")
        verdicts.add_row(Text(word, style), what, verdict.message)
        if verdict.fix:
            verdicts.add_row("", "", Text(verdict.fix, style))
    console.print(_trials(tuned), verdicts)
    if tuned.chosen:
        console.print(Text("\nFor config.toml:\n", "bold"))
        console.print(section(tuned.chosen))


def _trials(tuned: Tuned) -> Table:
    table = Table("tried", title=f"{tuned.machine.cpu}, {tuned.machine.cores} cores")
    for name in ("busy", "cores", "slowest"):
        table.add_column(name, justify="right")
    table.add_column("")
    for role, trials in groupby(tuned.trials, lambda trial: trial.role):
        table.add_section()
        table.add_row(Text(FOR_PEOPLE[role], "bold"))
        for trial in trials:
            cells = ["", "", ""]
            if (each := trial.figures) is not None:
                slowest = f"{each.slowest_s * 1000:.0f} ms"
                cells = [f"{each.busy:.1%}", f"{each.cores:.2f}", slowest]
            chosen = trial.tried.items() <= tuned.chosen.items()
            mark = Text("chosen", "green") if chosen else Text(trial.problem, "red")
            table.add_row(f"  {_words(trial.tried)}", *cells, mark)
    table.caption = "busy, cores: of the time while somebody speaks; slowest: of a final"
    return table


def _write(
    console: Console, tuned: Tuned, changes: Values, config: Path | None, loaded: Loaded
) -> dict[str, str]:
    """Write the changes into config.toml if all is well; return the outcome for --json."""
    if not tuned.ok:
        why = "see NO above" if tuned.complete else "it was ended early"
        console.print(Text(f"\nNothing was written: {why}.", "bold red"))
        return {}
    file = config or file_in_force() or Path("config.toml")
    diff, copy = write(file, changes, datetime.now(UTC))
    if not diff:
        console.print(f"\n{file} has all of this already.")
        return {}
    console.print(f"\n{diff}\n\nWritten to {file}.", soft_wrap=True)
    if copy is not None:
        console.print(f"As it was before: {copy}", soft_wrap=True)
    for key in changes:
        # The file does not count then, and nobody would see why nothing has changed.
        if loaded.origins[key] == "environment":
            console.print(Text(f"The environment sets {key} too, and wins.", "yellow"))
    return {"file": str(file), "diff": diff, "copy": str(copy or "")}


def _remember(tuned: Tuned, settings: Settings) -> None:
    """Record for `auto` whether each model keeps up, if that could be measured."""
    used: dict[str, str] = dict(models_in_use(settings).items())
    # On a busy machine a model that keeps up looks slow, and "auto" would avoid it.
    if tuned.complete and tuned.machine.busy <= TOO_BUSY:
        for verdict in tuned.verdicts:
            if verdict.what in used:
                remember(settings, used[verdict.what], keeps_up=verdict.ok)


def _words(values: Values) -> str:
    """Return settings in short form, with the last part of each key."""
    return ", ".join(f"{key.rpartition('.')[2]} {toml(value)}" for key, value in values.items())
