"""One page for all tests of a file that run the displays' modules and look at no document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

from scripts.support.display_server import DisplayServer


@contextmanager
def module_page(browser: Browser) -> Iterator[Page]:
    """Open the projector's page of a hall; in the end it must have complained of nothing."""
    complaints: list[str] = []
    with DisplayServer() as hall:
        page = browser.new_page(locale="en-GB")
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on(
            "console",
            lambda said: (
                complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.goto(f"{hall.url}/projector")
        yield page
        page.close()
    assert complaints == []
