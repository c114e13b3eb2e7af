"""What a phone's page has painted during a run, and when: the real page in a real browser.

The page reports each painted version to the server (`ack`, docs/PROTOCOL.md). An injected script,
which runs before the page's own, notes when the page sends these reports. The measurement thus
covers what every phone does, and the page is not changed for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, ViewportSize

from scripts.bench.sightings import Painted
from scripts.support.browser import chromium

_NOTE = """
window.painted = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
  const message = JSON.parse(data);
  if (message.type === "ack") window.painted.push([Date.now() / 1000, message.seq]);
  return send.call(this, data);
};
"""
_PHONE: ViewportSize = {"width": 390, "height": 844}


class Glass:
    """An open phone's page. `painted` works until the page is closed."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def painted(self) -> list[Painted]:
        """Return the page's reports so far, in order of time."""
        # The page uses the wall clock, we use the monotonic one; both are compared now.
        ahead_s = time.time() - time.monotonic()
        reports = self._page.evaluate("window.painted")
        return [Painted(at_s - ahead_s, int(seq)) for at_s, seq in reports]


@contextmanager
def glass(address: str, lang: str = "es") -> Iterator[Glass]:
    """Open the audience page in Chromium for as long as the block lasts."""
    with chromium() as browser:
        page = browser.new_page(viewport=_PHONE, locale=lang)
        page.add_init_script(_NOTE)
        page.goto(address)
        page.wait_for_selector("#status-text")
        yield Glass(page)
