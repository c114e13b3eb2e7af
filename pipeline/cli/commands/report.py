"""`report`: write a session as one web page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.cli.browser import add_browser, open_page
from pipeline.cli.options import Commands, add_command, add_session, session_of, write_out
from pipeline.review.report import report

_SAYS = "Write a web page about a session: delays, corrections, doubtful captions, all text."


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "report", _report, _SAYS)
    add_session(parser)
    says = "true text, such as demo/sermon.json: adds WER and chrF"
    parser.add_argument("--reference", type=Path, metavar="FILE", help=says)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="file to write (report.html in the session)"
    )
    add_browser(parser)


def _report(arguments: argparse.Namespace) -> int:
    folder = session_of(arguments)
    out: Path = arguments.out or folder / "report.html"
    write_out(out, report(folder, arguments.reference))
    print(f"{folder.name} is in {out}", file=sys.stderr)
    # Resolved: a relative path has no address.
    open_page(out.resolve().as_uri(), arguments.browser)
    return 0
