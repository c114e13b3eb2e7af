"""`/events` as a browser reads it: EventSource, which reconnects by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from scripts.support.display_server import DisplayServer
from tests.browser.conftest import until

pytestmark = pytest.mark.browser

LISTEN = """(query) => {
    window.heard = [];
    const source = new EventSource(`/events?${query}`);
    source.onmessage = (event) => heard.push(JSON.parse(event.data));
}"""


@pytest.fixture
def page(browser: Browser, hall: DisplayServer) -> Iterator[Page]:
    """Open a page without its own socket. Its console may report a lost server."""
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(f"{hall.url}/healthz")
    yield opened
    context.close()


def test_an_event_source_goes_on_where_it_was(hall: DisplayServer, page: Page) -> None:
    hall.say(1, "uno", final=True)
    page.evaluate(LISTEN, "lang=es")
    until(page, "heard.length > 0")
    hall.say(2, "dos", final=True)
    until(page, "heard.at(-1).id === 2")
    page.evaluate("heard.length = 0")
    hall.close()
    hall.say(3, "tres", final=True)  # no client is connected
    hall.open()  # same session: the browser reconnects with the last event's id
    until(page, "heard.length > 0")
    assert page.evaluate("[heard[0].type, heard[0].resumed]") == ["hello", True]
    assert page.evaluate("heard[0].captions.map(({ id }) => id)") == [3]
    hall.say(4, "cuatro", final=True)
    until(page, "heard.at(-1).id === 4")
    assert page.evaluate("heard.at(-1).target.text") == "cuatro"
