"""`check`: test whether everything is ready for the service."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from pipeline.check.checks import checks
from pipeline.check.engines import EngineChecks
from pipeline.check.result import Check, Result, Verdict, keep, results
from pipeline.cli.console import Console
from pipeline.cli.options import (
    Commands,
    add_command,
    add_hearing,
    add_serving,
    number,
    print_json,
    settings_of,
    some_file,
)
from pipeline.cli.streams import printable
from pipeline.config.loader import Loaded
from pipeline.core import logs
from pipeline.core.errors import ConfigError

_SHOWN: dict[Verdict, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "look": ("look", "yellow"),
    "failed": ("FAILED", "bold red"),
}
_SETTINGS_FIX = "Correct it there; config.toml as it ships explains every key."


def add(commands: Commands) -> None:
    says = "Test before a service: settings, microphone, models, port, disk, servers."
    parser = add_command(commands, "check", _check, says)
    option = parser.add_argument
    option("--json", action="store_true", help="print one JSON object")
    option("--no-audio", action="store_true", help="do not test the microphone")
    says = "seconds to listen to the microphone (3)"
    option("--seconds", type=number(float, 0.5, 600), default=3.0, metavar="N", help=says)
    add_serving(parser)
    add_hearing(parser)
    option("--input", type=some_file, metavar="FILE", help="test with an audio file instead")


def _check(arguments: argparse.Namespace) -> int:
    try:
        loaded = settings_of(arguments)
    except ConfigError as error:
        console = Console(quiet=arguments.json)
        fix = error.fix or _SETTINGS_FIX
        # Without settings no other check can run; this one still has a result, also as JSON.
        wrong = Result("settings", False, error.message, fix, error.code, 0.0)
        _show(console, wrong)
        _conclude(console, [wrong], [], as_json=arguments.json)
        return ConfigError.exit_code
    return check_all(
        loaded, audio=not arguments.no_audio, seconds=arguments.seconds, as_json=arguments.json
    )


def check_all(
    loaded: Loaded, *, audio: bool = True, seconds: float = 3.0, as_json: bool = False
) -> int:
    """Run and show all checks, the microphone's only with `audio`; return the exit code."""
    # With --json standard output is one object, and nothing else may be on it.
    console = Console(quiet=as_json)
    log = loaded.settings.log
    # The checks themselves report what loads.
    logs.configure_quietly(log.level, log.format)
    outcomes = []
    waiting = console.status("") if console.is_terminal else nullcontext()
    with waiting as status, EngineChecks(loaded.settings) as rehearsal:
        planned = checks(loaded, rehearsal, audio=audio, seconds=seconds)

        def begin(check: Check) -> None:
            if status is not None:
                status.update(Text(f"{check.doing} ..."))

        for result in results(planned, begin):
            _show(console, result)
            outcomes.append(result)
    with suppress(OSError):  # the check of the sessions' folder has reported it
        directory = Path(loaded.settings.session.directory)
        # Operators' pages show it: an operator sees whether the machine was checked.
        keep(directory, outcomes, loaded.settings)
    # A check that depends on a failed one has no result; it is named, so that nobody misses it.
    left_out = [check.name for check in planned if check.name not in {r.name for r in outcomes}]
    _conclude(console, outcomes, left_out, as_json=as_json)
    # The first check is for the settings, which have an exit code of their own.
    if not outcomes[0].ok:
        return ConfigError.exit_code
    return 0 if all(result.ok for result in outcomes) else 1


def _show(console: Console, result: Result) -> None:
    """Print a result in one line, and its fix in another.

    On a terminal both are in columns, so that no word is cut in two at the edge.
    """
    word, style = _SHOWN[result.verdict]
    # A file's key or name may have signs in it that a terminal would obey.
    message, fix = printable(result.message), printable(result.fix)
    name = f"{result.name} "  # the space is for names as long as the column, or longer
    if console.is_terminal:
        code = (f" [{result.code}]", "dim") if result.code else ""
        rows = Table.grid()
        rows.add_column(width=7)
        rows.add_column(min_width=16, no_wrap=True)
        rows.add_column()
        rows.add_row(Text(word, style), Text(name, "bold"), Text.assemble(message, code))
        if fix:
            rows.add_row("", "", Text(fix, style))
        console.print(rows)
        return
    # A pipe or a log gets one line for each result, which other programs can search.
    line = Text.assemble((f"{word:<7}", style), (f"{name:<16}", "bold"), message)
    if result.code:
        line.append(f" [{result.code}]", "dim")
    console.print(line, soft_wrap=True)
    if fix:
        console.print(Text(f"{'':<23}{fix}", style), soft_wrap=True)


def _conclude(
    console: Console, outcomes: Sequence[Result], left_out: Sequence[str], *, as_json: bool
) -> None:
    red = [result.name for result in outcomes if not result.ok]
    if as_json:
        report = {"ok": not red, "results": [asdict(r) for r in outcomes], "left_out": left_out}
        print_json(report)
        return
    waiting = f" (not tried: {', '.join(left_out)})" if left_out else ""
    advice = sum(1 for result in outcomes if result.ok and result.fix)
    if red:
        text = Text(f"Not ready: mend {', '.join(red)}{waiting}.", "bold red")
        console.print(text, soft_wrap=not console.is_terminal)
    elif advice:
        console.print(Text(f"Ready; {advice} of {len(outcomes)} could be better.", "bold yellow"))
    else:
        console.print(Text(f"Ready: all {len(outcomes)} checks are green.", "bold green"))
