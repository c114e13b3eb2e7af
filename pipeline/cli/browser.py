"""Pages that a command opens in the browser of this machine."""

from __future__ import annotations

import argparse
import sys
import webbrowser


def add_browser(parser: argparse.ArgumentParser) -> None:
    """Add the flag for it."""
    says = "open the browser of this machine (default: where there is a terminal)"
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, help=says)


def open_page(url: str, wanted: bool | None) -> None:
    """Open a page if that is wanted; None: where there is a terminal."""
    if sys.stdout.isatty() if wanted is None else wanted:
        webbrowser.open(url)
