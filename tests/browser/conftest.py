"""One browser for each test file, and pages that fail a test on console errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    FloatRect,
    Locator,
    Page,
    Request,
    expect,
)

from scripts.support.browser import CHROMIUM, chromium
from scripts.support.display_server import DisplayServer
from tests.support.needs import needs_file

# Chromium's own message when the server of an open socket is gone.
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
    """Wait until a JavaScript expression is true. The pages' policy forbids playwright's eval."""
    for _ in range(1200):  # a minute: a busy machine is no error
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {expression}")


def run(page: Page, module: str, body: str, *values: Any) -> Any:
    """Run `body` in the page, with a module's exports as `m` and `values` as `v`."""
    script = f"async (v) => {{ const m = await import('/js/{module}.js'); {body} }}"
    return page.evaluate(script, list(values))


def barriers(page: Page) -> list[str]:
    """Return the rules that a page breaks for axe-core, each with the first such element."""
    return told(Axe().run(page).response["violations"])


def told(violations: list[dict[str, Any]]) -> list[str]:
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in violations]


def place_of(locator: Locator) -> FloatRect:
    """Return an element's box on its page, in CSS pixels."""
    found = locator.bounding_box()
    assert found is not None
    return found


def note_complaints(
    page: Page, complaints: list[str], answers: frozenset[int] = frozenset()
) -> None:
    """Collect a page's console errors, except for responses with a status in `answers`."""

    def is_closed(error: str, url: str) -> bool:
        """Whether a hall that closed gave no video against a dark screen."""
        return url.endswith("/awake.mp4") and "net::ERR_CONNECTION_" in error

    def hear(message: ConsoleMessage) -> None:
        # Chromium itself logs each refused request as an error.
        is_answer = any(f"status of {status} " in message.text for status in answers)
        is_harmless = is_answer or is_closed(message.text, message.location["url"])
        is_complaint = message.type in ("error", "warning") and not is_harmless
        if is_complaint and not LOST_SOCKET.search(message.text):
            complaints.append(message.text)

    def fail(request: Request) -> None:
        error = request.failure or ""
        # ABORTED: the test left before the icon arrived.
        if error != "net::ERR_ABORTED" and not is_closed(error, request.url):
            complaints.append(f"{request.failure}: {request.url}")

    page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
    page.on("console", hear)
    page.on("requestfailed", fail)


# Module scope, not session: while playwright runs, this thread cannot use asyncio.run().
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Share one Chromium: its start takes a second."""
    needs_file(CHROMIUM)
    with chromium() as running:
        yield running


@pytest.fixture
def hall(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DisplayServer]:
    """Serve the pages and the socket; a module's `SERVES` makes another server for a folder."""
    make = getattr(request.module, "SERVES", lambda _: DisplayServer())
    with make(tmp_path) as running:
        yield running


class KeptPages:
    """Opens pages in contexts that earlier tests have released: a new context costs a process.

    Each hall has another port, so that no page finds what another page stored.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[Page]] = {}
        self._complaints: list[str] = []

    @contextmanager
    def visits(self, hall: DisplayServer) -> Iterator[Visit]:
        """Open pages of a hall: `visit("/projector", viewport=...)`.

        A script, `answers` (as for `note_complaints`) or `fresh` gives the page its own context.
        A test that sets a route or another clock must ask for one.
        """
        taken: list[tuple[str, Page]] = []
        own: list[BrowserContext] = []

        def visit(
            path: str = "/",
            script: str = "",
            *,
            answers: frozenset[int] = frozenset(),
            fresh: bool = False,
            **options: Any,
        ) -> Page:
            size = options.pop("viewport", {"width": 390, "height": 844})
            key = repr(sorted(options.items()))
            fresh = bool(fresh or script or answers)
            if not fresh and self._free.get(key):
                page = self._free[key].pop()
                page.set_viewport_size(size)
            else:
                page = self._new(script, answers, viewport=size, **{"locale": "en-GB", **options})
            if fresh:
                own.append(page.context)
            else:
                taken.append((key, page))
            page.goto(hall.url + path)
            if path == "/":
                until(page, FURNISHED)  # a hall that closes now aborts no fetch
            return page

        yield visit
        for context in own:
            context.close()
        for key, page in taken:
            if _left(page):
                self._free.setdefault(key, []).append(page)
        complaints = self._complaints.copy()
        self._complaints.clear()  # the kept pages still add to this list
        assert complaints == []

    def _new(self, script: str, answers: frozenset[int], **options: Any) -> Page:
        context = self._browser.new_context(**options)
        context.set_default_timeout(60_000)
        context.add_init_script(WATCH_POLICY + script)
        page = context.new_page()
        note_complaints(page, self._complaints, answers)
        return page


def _left(page: Page) -> bool:
    """Reset a page to its new state; return whether another test can use it."""
    if page.is_closed() or not page.url.startswith("http"):  # only http has storage to clear
        page.context.close()
        return False
    for other in page.context.pages:
        if other is not page:
            other.close()
    page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.context.clear_cookies()
    page.mouse.move(0, 0)
    page.goto("about:blank")
    return True


@pytest.fixture(scope="module")
def kept_pages(browser: Browser) -> KeptPages:
    return KeptPages(browser)


@pytest.fixture
def visit(kept_pages: KeptPages, hall: DisplayServer) -> Iterator[Visit]:
    """Open pages of the hall; console errors fail the test."""
    with kept_pages.visits(hall) as visit:
        yield visit


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Share one page among tests that run the displays' modules and use no document."""
    complaints: list[str] = []
    with DisplayServer() as hall:
        opened = browser.new_page(locale="en-GB")
        note_complaints(opened, complaints)
        opened.goto(f"{hall.url}/projector")
        yield opened
        opened.close()
    assert complaints == []
