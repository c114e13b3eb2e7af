"""One browser for a test file, a page per test that fails on whatever the console complains of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from scripts.support.browser import CHROMIUM, chromium
from scripts.support.display_server import DisplayServer
from tests.support.needs import needs_file

# What Chromium says by itself when a server it had a socket to is gone.
LOST_SOCKET = re.compile(r"WebSocket connection to '.*' failed")
WATCH_POLICY = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
FURNISHED = """performance.getEntriesByType("resource")
    .some((entry) => entry.name.endsWith("/js/shared/wakelock.js"))"""

Visit = Callable[..., Page]


def until(page: Page, expression: str) -> None:
    """Wait until JavaScript says so. The pages' policy forbids playwright's own way, an eval."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {expression}")


# Of a module, not of the session: while playwright runs, this thread cannot use asyncio.run().
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Share one chromium: its start takes a second."""
    needs_file(CHROMIUM)
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def contexts(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """Share a profile between the tests of a file that ask for the same options.

    A new profile costs half a second of the processor. Each hall has a port of its own, so that
    nothing stored for one is there for the next.
    """
    shared: dict[str, BrowserContext] = {}
    yield shared
    for context in shared.values():
        context.close()


@pytest.fixture
def hall() -> Iterator[DisplayServer]:
    """Serve pages and socket."""
    with DisplayServer() as running:
        yield running


@pytest.fixture
def visit(
    browser: Browser, contexts: dict[str, BrowserContext], hall: DisplayServer
) -> Iterator[Visit]:
    """Open a page of the hall: `visit("/projector", viewport=...)`.

    Tests that change more than their page, such as its clock, take a profile for themselves with
    `own=True`.
    """
    complaints: list[str] = []
    used: list[BrowserContext] = []

    def visit(
        path: str = "/",
        script: str = "",
        *,
        answers: frozenset[int] = frozenset(),
        own: bool = False,
        **options: Any,
    ) -> Page:
        # Chromium complains by itself of what a server refuses; `answers` are those that belong.
        options.setdefault("viewport", {"width": 390, "height": 844})
        options.setdefault("locale", "en-GB")
        name = f"{sorted(options.items())}" if not own else f"own {len(contexts)}"
        if name not in contexts:
            contexts[name] = browser.new_context(**options)
            contexts[name].set_default_timeout(10_000)
        context = contexts[name]
        used.append(context)
        page = context.new_page()
        page.add_init_script(WATCH_POLICY + script)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text)
                if message.type in ("error", "warning")
                and not LOST_SOCKET.search(message.text)
                and not any(f"status of {status} " in message.text for status in answers)
                else None
            ),
        )
        page.on(
            "requestfailed",
            lambda request: (
                complaints.append(f"{request.failure}: {request.url}")
                if request.failure
                != "net::ERR_ABORTED"  # the test left the page before its icon came
                else None
            ),
        )
        page.goto(hall.url + path)
        if path == "/":
            until(page, FURNISHED)  # a hall that closes now breaks off no fetch
        return page

    yield visit
    for context in used:
        for page in context.pages:
            page.close()
        context.clear_cookies()
    assert complaints == []
