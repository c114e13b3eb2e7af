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
    page.evaluate("keys.checked || keys.click()")  # as somebody who works with a keyboard
    return page


def setup(page: Page) -> Page:
    """Show what is set up before a service."""
    page.locator("#tab-setup").click()
    return page


def keeper(page: Page) -> None:
    """Show what is for those who look after the machine."""
    setup(page).locator("#details").check()
    page.locator("#tab-now").click()


def row(page: Page, number: int) -> Locator:
    """An utterance in the list."""
    return page.locator(f".row[data-id='{number}']")


def audience(visit: Visit) -> Page:
    """Open the page of a listener."""
    page = visit("/")
    expect(page.locator("#status-text")).to_have_text("Listening")
    return page
