"""Open the operator's page for tests."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit

TABLET: dict[str, Any] = {"viewport": {"width": 1024, "height": 768}}
OPEN = "/operator#token=secret"

expect.set_options(timeout=60_000)  # for a busy computer; a test that passes does not wait


def opened(visit: Visit, path: str = OPEN, **options: Any) -> Page:
    """Open the console and wait until it is logged in."""
    page = visit(path, **{**TABLET, **options})
    expect(page.locator("#pause")).to_be_enabled()
    page.evaluate("keys.checked || keys.click()")  # turn the keyboard shortcuts on
    return page


def setup(page: Page) -> Page:
    """Show the settings for before a service."""
    page.locator("#tab-setup").click()
    return page


def keeper(page: Page) -> None:
    """Show the settings for those who maintain the machine."""
    setup(page).locator("#details").check()
    page.locator("#tab-now").click()


def row(page: Page, number: int) -> Locator:
    """Return an utterance's row in the list."""
    return page.locator(f".row[data-id='{number}']")


def reconnect(page: Page) -> None:
    """Let the console open a new connection, and wait until it has all of its messages."""
    page.evaluate("address.textContent = ''; window.dispatchEvent(new Event('online'))")
    expect(page.locator("#address")).not_to_be_empty()


def audience(visit: Visit) -> Page:
    """Open the audience page."""
    page = visit("/")
    expect(page.locator("#status-text")).to_have_text("Listening")
    return page
