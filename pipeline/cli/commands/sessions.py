"""`sessions`: the services that are kept, by the church's own clock."""

from __future__ import annotations

import argparse
from contextlib import suppress
from datetime import date
from pathlib import Path

from pipeline.cli.options import Commands, add_command, add_sessions, settings_of
from pipeline.core.errors import SessionError
from pipeline.session.reader import Session, extra_targets, left_out, of_day, sessions, started

_SAYS = "List recorded services, the newest last."
_MOST = 20


def add(commands: Commands) -> None:
    parser = add_command(commands, "sessions", _sessions, _SAYS)
    add_sessions(parser)
    parser.add_argument("--all", action="store_true", help=f"list all, not only the newest {_MOST}")
    day = 'only those of "2026-11-22", "today", "sunday" or "last sunday"'
    parser.add_argument("day", nargs="?", default="", help=day)


def _sessions(arguments: argparse.Namespace) -> int:
    directory = Path(settings_of(arguments).settings.session.directory)
    there = sessions(directory)
    # By this machine's own clock: "sunday" is the day that people here call so.
    found = of_day(arguments.day, there, date.today()) if arguments.day else there  # noqa: DTZ011
    if not found:
        what = f"no session of {arguments.day!r}" if arguments.day else "no session"
        fix = "--sessions or session.directory names another folder."
        raise SessionError("session-missing", f"There is {what} in {directory.absolute()}.", fix)
    shown = found if arguments.all else found[-_MOST:]
    if len(shown) < len(found):
        print(f"{len(found) - len(shown)} older ones: --all")
    for folder in shown:
        print(line(folder))
    return 0


def line(folder: Path) -> str:
    """Return what a list says of a session: name, day, length, captions, languages."""
    began, session = started(folder.name), Session(folder)
    when = f"{began:%a} {began.day:2} {began:%b %Y %H:%M}" if began else "-"
    # One damaged session must not keep the others from the list.
    said = "cannot be read"
    with suppress(SessionError):
        # Reading a long service takes its time: only those that are shown are read.
        captions = session.captions
        length_s = captions[-1].end_s if captions else 0.0
        targets = [session.langs["target"], *extra_targets(folder)]
        langs = f"{session.langs['source']} to {', '.join(targets)}"
        many = f"{len(captions)} captions" if len(captions) != 1 else "1 caption"
        said = f"{length_s / 60:4.0f} min  {many:>14}  {langs}" if captions else "nothing was said"
        if damaged := left_out(folder):
            said += f"  (damaged lines: {'; '.join(damaged)})"
    return f"{folder.name:<26}  {when:<21}  {said}"
