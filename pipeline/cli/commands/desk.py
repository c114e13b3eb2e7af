"""`desk`: open the operator's page, without looking for a token."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path
from urllib.parse import quote

import segno

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.core.errors import UsageError
from pipeline.server.addresses import EVERYWHERE, page_address
from pipeline.server.operator_token import kept_token

_SAYS = "Open the desk of the service that runs on this machine, and show its link for a tablet."


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "desk", _desk, _SAYS)
    parser.add_argument("--host", help="address that the daemon serves on, if not that of --config")
    parser.add_argument("--port", type=int, help="its port, if not that of --config")
    parser.add_argument("--sessions", metavar="DIR", help="where it makes its session folders")
    says = "open the browser of this machine (default: where there is a terminal)"
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, help=says)


def _desk(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    server = settings.server
    if not server.port:
        message = "server.port is 0: the port that the daemon picked is not in the settings."
        raise UsageError("port-unknown", message, "Give it with --port; the daemon has printed it.")
    token = settings.operator.token or kept_token(Path(settings.session.directory))
    secure = bool(server.tls_cert)
    reaches_tablets = server.host in EVERYWHERE
    there = link(page_address(server.host, server.port, secure=secure), token)
    here = "127.0.0.1" if reaches_tablets and not secure else server.host
    print(f"The desk: {there}")
    if reaches_tablets and sys.stdout.isatty():
        print("For a tablet (whoever has this code can command; show it to your team only):")
        segno.make_qr(there, error="l").terminal(compact=True)
    wanted = sys.stdout.isatty() if arguments.browser is None else arguments.browser
    if wanted:
        webbrowser.open(link(page_address(here, server.port, secure=secure), token))
    return 0


def link(page: str, token: str) -> str:
    """Return the address that lets an operator in. What is behind # never leaves the browser."""
    return f"{page}operator#token={quote(token, safe='')}"
