"""One browser for a test file, a page per test that fails on whatever the console complains of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

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

expect.set_options(timeout=60_000)


def until(page: Page, expression: str) -> None:
    """Wait until JavaScript says so. The pages' policy forbids playwright's own way, an eval."""
    for _ in range(1200):  # a minute: a busy machine is no mistake
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {expression}")


def note_complaints(
    page: Page, complaints: list[str], answers: frozenset[int] = frozenset()
) -> None:
    """Add what a page complains of, but for refusals with a status of `answers`."""

    def hear(message: ConsoleMessage) -> None:
        # Chromium complains by itself of what a server refuses.
        is_answer = any(f"status of {status} " in message.text for status in answers)
        is_complaint = message.type in ("error", "warning") and not is_answer
        if is_complaint and not LOST_SOCKET.search(message.text):
            complaints.append(message.text)

    def fail(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the test left before the page's icon came
            complaints.append(f"{request.failure}: {request.url}")

    page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
    page.on("console", hear)
    page.on("requestfailed", fail)


# Of a module, not of the session: while playwright runs, this thread cannot use asyncio.run().
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Share one chromium: its start takes a second."""
    needs_file(CHROMIUM)
    with chromium() as running:
        yield running


@pytest.fixture
def hall() -> Iterator[DisplayServer]:
    """Serve pages and socket."""
    with DisplayServer() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, hall: DisplayServer) -> Iterator[Visit]:
    """Open a page of the hall in a new profile: `visit("/projector", viewport=...)`."""
    complaints: list[str] = []
    contexts = []

    def visit(
        path: str = "/", script: str = "", *, answers: frozenset[int] = frozenset(), **options: Any
    ) -> Page:
        options.setdefault("viewport", {"width": 390, "height": 844})
        context = browser.new_context(**{"locale": "en-GB", **options})
        contexts.append(context)
        context.set_default_timeout(60_000)
        context.add_init_script(WATCH_POLICY + script)
        page = context.new_page()
        note_complaints(page, complaints, answers)
        page.goto(hall.url + path)
        if path == "/":
            until(page, FURNISHED)  # a hall that closes now breaks off no fetch
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
