"""Pages that the tests of a file take over from each other: a new one costs a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.conftest import FURNISHED, WATCH_POLICY, Visit, note_complaints, until


class Hall(Protocol):
    """What serves the pages, each time at another port: so no page finds what another kept."""

    @property
    def url(self) -> str:
        """Its address, without the last slash."""


class KeptPages:
    """Opens pages as the fixture `visit` does, in contexts that earlier tests are done with."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[Page]] = {}
        self._complaints: list[str] = []

    @contextmanager
    def visits(self, hall: Hall) -> Iterator[Visit]:
        """Open pages of a hall; a script, or `fresh`, asks for a context of the page's own."""
        taken: list[tuple[str, Page]] = []
        own: list[BrowserContext] = []

        def visit(
            path: str = "/", script: str = "", *, fresh: bool = False, **options: Any
        ) -> Page:
            size = options.pop("viewport", {"width": 390, "height": 844})
            key = repr(sorted(options.items()))
            if not (script or fresh) and self._free.get(key):
                page = self._free[key].pop()
                page.set_viewport_size(size)
            else:
                page = self._new(script, viewport=size, **{"locale": "en-GB", **options})
            if script or fresh:
                own.append(page.context)
            else:
                taken.append((key, page))
            page.goto(hall.url + path)
            if path == "/":
                until(page, FURNISHED)  # a hall that closes now breaks off no fetch
            return page

        yield visit
        for context in own:
            context.close()
        for key, page in taken:
            if _left(page):
                self._free.setdefault(key, []).append(page)
        complaints = self._complaints.copy()
        self._complaints.clear()  # the pages that are kept go on adding to this list
        assert complaints == []

    def _new(self, script: str, **options: Any) -> Page:
        context = self._browser.new_context(**options)
        context.set_default_timeout(60_000)
        context.add_init_script(WATCH_POLICY + script)
        page = context.new_page()
        note_complaints(page, self._complaints)
        return page


def _left(page: Page) -> bool:
    """Leave a page as it was when it was new; say whether another test can have it."""
    if page.is_closed():
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
