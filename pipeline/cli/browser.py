"""Pages that a command opens in the browser of this machine."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path
from urllib.parse import quote

from pipeline.core.errors import UsageError

_LEADS_ON = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>stark-translate</title>
<a href="{url}">stark-translate</a>
"""


def add_browser(parser: argparse.ArgumentParser) -> None:
    """Add the --browser flag."""
    says = "open the browser of this machine (default: where there is a terminal)"
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, help=says)


def is_wanted(flag: bool | None) -> bool:
    """Whether to open a page; without the flag: only on a terminal."""
    # Without a terminal, a script or a service runs this, and nobody would see the page.
    return sys.stdout.isatty() if flag is None else flag


def open_page(url: str, flag: bool | None) -> None:
    """Open a page if that is wanted. The address must not contain a secret."""
    if is_wanted(flag):
        webbrowser.open(url)


def link_with(token: str, page: str) -> str:
    """Return a page's address with the token. The part after # never leaves the browser."""
    return f"{page}#token={quote(token, safe='')}"


def open_with_token(token: str, page: str, directory: Path, flag: bool | None) -> None:
    """Open a page with the token if that is wanted.

    Every user of the machine can read a browser's command line. So the browser is given a file in
    `directory` that only its owner can read, and that leads to the page. It stays there: a user
    who can read it can also read the token beside it.
    """
    if not is_wanted(flag):
        return
    file = directory.resolve() / f"open-{page.rpartition('/')[2]}.html"
    try:
        file.unlink(missing_ok=True)  # never write into a file that others may have open
        # O_EXCL: a link that is created here after the line above is refused, not followed.
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(_LEADS_ON.format(url=escape(link_with(token, page))))
    except OSError as error:
        reason = f"{file} cannot be written ({error.strerror})"
        print(f"The browser is not opened: {reason}. Open the address yourself.", file=sys.stderr)
        return
    # Only the file's address is passed: the token is in none of the arguments.
    webbrowser.open(file.as_uri())


_PRINTERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("microsoft-edge", "brave-browser"),
)
_PRINT_S = 120.0


def printed(page: str) -> bytes:
    """Return a web page as PDF, made by a browser of this machine.

    Raises UsageError: `pdf-no-browser`, `pdf-failed`.
    """
    instead = "Let the file's name end with .html, open it, and print it from there."
    browser = next(filter(None, map(shutil.which, _PRINTERS)), None)
    if browser is None:
        none = "A PDF is made by Chromium, Chrome, Edge or Brave, and none of them is here."
        raise UsageError("pdf-no-browser", none, instead)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        options = ["--headless", "--disable-gpu", "--no-pdf-header-footer"]
        # As root, Chromium refuses to start with its sandbox. The page is ours, and has no script.
        # Windows has no user ids.
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        options += ["--no-sandbox"] if is_root else []
        # A separate profile: a running Chromium would take over the page and print nothing.
        places = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", source.as_uri()]
        try:
            subprocess.run(  # noqa: S603 - a browser by its name, and a page of ours
                [browser, *options, *places], check=True, capture_output=True, timeout=_PRINT_S
            )
            return made.read_bytes()
        except (OSError, subprocess.SubprocessError) as problem:
            raise UsageError("pdf-failed", f"{browser} made no PDF: {problem}", instead) from None
