"""Debian's chromium, driven by playwright: no browser is downloaded, nothing is sent anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

# The shell is the same engine without windows and profiles: a page takes half the CPU time.
SHELL = "/usr/lib/chromium/chromium-headless-shell"
CHROMIUM = SHELL if Path(SHELL).is_file() else "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless chromium with a new, empty profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=ARGUMENTS
        )
        try:
            yield browser
        finally:
            browser.close()
