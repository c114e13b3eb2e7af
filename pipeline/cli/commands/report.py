"""`report` and `dashboard`: write a session, or all services, as one web page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.cli.browser import add_browser, open_page, printed
from pipeline.cli.options import (
    Commands,
    add_command,
    add_session,
    add_sessions,
    path,
    session_of,
    settings_of,
    write_out,
)
from pipeline.core.errors import SessionError, UsageError
from pipeline.learning.dashboard import dashboard
from pipeline.learning.data.folder import DataFolder
from pipeline.review.report import report
from pipeline.session.past_services import DASHBOARD
from pipeline.session.reader import sessions

_SAYS = "Write a web page about a session: delays, corrections, doubtful captions, all text."


def add(commands: Commands) -> None:
    parser = add_command(commands, "report", _report, _SAYS)
    add_session(parser)
    says = "true text, such as demo/sermon.json: adds WER and chrF"
    parser.add_argument("--reference", type=path, metavar="FILE", help=says)
    says = "file to write, .html or .pdf (report.html in the session)"
    parser.add_argument("--out", type=path, metavar="FILE", help=says)
    add_browser(parser)
    says = "Write a web page about all services: are captions getting better?"
    parser = add_command(commands, "dashboard", _dashboard, says)
    add_sessions(parser)
    parser.add_argument("--last", type=int, default=26, help="number of services (%(default)s)")
    says = "file to write, .html or .pdf (dashboard.html in that folder)"
    parser.add_argument("--out", type=path, metavar="FILE", help=says)


def _report(arguments: argparse.Namespace) -> int:
    folder = session_of(arguments)
    out: Path = arguments.out or folder / "report.html"
    _write(out, report(folder, arguments.reference))
    print(f"{folder.name} is in {out}", file=sys.stderr)
    # Resolved: a relative path has no file address.
    open_page(out.resolve().as_uri(), arguments.browser)
    return 0


def _dashboard(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    directory = Path(settings.session.directory)
    # At least one: a slice from -0 has all of them.
    folders = sessions(directory)[-max(1, arguments.last) :]
    if not folders:
        message = f"No session is kept in {directory.absolute()}."
        raise SessionError("session-missing", message, "Name the folder with --sessions.")
    out: Path = arguments.out or directory / DASHBOARD
    _write(out, dashboard(folders, DataFolder(Path(settings.learn.directory))))
    many = "1 service is" if len(folders) == 1 else f"{len(folders)} services are"
    print(f"{many} in {out}", file=sys.stderr)
    return 0


def _write(out: Path, page: str) -> None:
    """Write a web page, or print it. Raises UsageError, SessionError."""
    match out.suffix.lower():
        case ".html" | ".htm":
            write_out(out, page.encode())
        # Made by a browser: it knows every script, and the page's own print styles.
        case ".pdf":
            write_out(out, printed(page))
        case _:
            problem = f"{out} is no name for a report."
            raise UsageError("report-format", problem, "Let it end with .html or .pdf.")
