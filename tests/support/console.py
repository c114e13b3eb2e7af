"""The operator's page, as every test of it opens it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit

TABLET: dict[str, Any] = {"viewport": {"width": 1024, "height": 768}}
OPEN = "/operator#token=secret"

expect.set_options(timeout=60_000)  # on a busy computer; it costs nothing where all goes well


def opened(visit: Visit, path: str = OPEN, **options: Any) -> Page:
    """Open the console and wait until it is let in."""
    page = visit(path, **{**TABLET, **options})
    expect(page.locator("#pause")).to_be_enabled()
    return page


def row(page: Page, number: int) -> Locator:
    """An utterance in the list."""
    return page.locator(f".row[data-id='{number}']")


def audience(visit: Visit) -> Page:
    """Open the page of a listener."""
    page = visit("/")
    expect(page.locator("#status-text")).to_have_text("Listening")
    return page
