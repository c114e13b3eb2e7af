"""`dashboard`: all services as one web page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.cli.options import Commands, add_command, settings_of, write_out
from pipeline.core.errors import SessionError
from pipeline.learning.dashboard import dashboard
from pipeline.learning.data.folder import DataFolder
from pipeline.session.past_services import DASHBOARD
from pipeline.session.reader import sessions

_SAYS = "Write a web page about all services: are captions getting better?"


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "dashboard", _dashboard, _SAYS)
    parser.add_argument("--sessions", metavar="DIR", help="folder of the recorded sessions")
    parser.add_argument("--last", type=int, default=26, help="number of services (%(default)s)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="file to write (dashboard.html in that folder)"
    )


def _dashboard(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    directory = Path(settings.session.directory)
    # At least one: behind the 0th from the end are all of them.
    folders = sessions(directory)[-max(1, arguments.last) :]
    if not folders:
        message = f"No session is kept in {directory}."
        raise SessionError("session-missing", message, "Name the folder with --sessions.")
    out: Path = arguments.out or directory / DASHBOARD
    write_out(out, dashboard(folders, DataFolder(Path(settings.learn.directory))))
    print(f"{len(folders)} services are in {out}", file=sys.stderr)
    return 0
