"""Pages that a command opens in the browser of this machine."""

from __future__ import annotations

import argparse
import sys
import webbrowser


def add_browser(parser: argparse.ArgumentParser) -> None:
    """Add the flag for it."""
    says = "open the browser of this machine (default: where there is a terminal)"
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, help=says)


def is_wanted(flag: bool | None) -> bool:
    """Return whether a page is to be opened; without the flag: where there is a terminal."""
    # Without a terminal a script or a service runs it, and nobody looks.
    return sys.stdout.isatty() if flag is None else flag


def open_page(url: str, flag: bool | None) -> None:
    """Open a page if that is wanted."""
    if is_wanted(flag):
        webbrowser.open(url)
