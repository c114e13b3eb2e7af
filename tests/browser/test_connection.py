"""The pages' connection on bad Wi-Fi: dead links, half a history, a server that comes and goes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit, until
from tests.support.patience import wait_for

pytestmark = pytest.mark.browser

STATUS = "#status-text"
PAINTED = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))"


class Air:
    """The network between page and server; it can go silent without closing, as Wi-Fi does."""

    def __init__(self, page: Page, *, drop: str = "") -> None:
        self.urls: list[str] = []
        self.silent = False
        self.routes: list[WebSocketRoute] = []
        self._drop = drop
        page.route_web_socket("**/ws**", self._serve)

    def _serve(self, route: WebSocketRoute) -> None:
        self.urls.append(route.url)
        if self.silent:
            return
        self.routes.append(route)
        server = route.connect_to_server()
        server.on_message(lambda data: self._pass(route, data))

    def _pass(self, route: WebSocketRoute, data: Any) -> None:
        kind = json.loads(data)["type"]
        if self.silent:
            return
        if kind == self._drop:
            self._drop = ""
            route.close(code=1012)
            return
        route.send(data)

    def alive(self) -> None:
        self.routes[-1].send(json.dumps({"type": "alive", "seq": 0}))


def listening(page: Page) -> None:
    expect(page.locator(STATUS)).to_have_text("Listening")


@pytest.mark.slow
def test_a_link_that_died_without_a_word_is_noticed(hall: DisplayServer, visit: Visit) -> None:
    """The socket still looks open; the next one gets the missed captions."""
    hall.say(1, "Esta es la primera frase.", final=True)
    page = visit(fresh=True)
    air = Air(page)
    page.clock.install()
    page.reload()
    listening(page)
    air.alive()
    page.wait_for_timeout(200)
    page.clock.fast_forward(20_000)
    air.alive()
    page.wait_for_timeout(200)
    page.clock.fast_forward(24_000)
    listening(page)
    air.silent = True
    hall.say(2, "Nadie oye esta frase.", final=True)
    page.clock.fast_forward(2_000)
    expect(page.locator(STATUS)).to_have_text("Reconnecting")
    tries = len(air.urls)
    page.clock.fast_forward(1_000)
    until_tries(page, air, tries + 1)
    page.clock.fast_forward(26_000)  # this connection did not even get an answer
    page.clock.fast_forward(2_000)
    until_tries(page, air, tries + 2)
    air.silent = False
    page.clock.fast_forward(26_000)
    page.clock.fast_forward(5_000)
    listening(page)
    assert "since=1" in air.urls[-1]
    expect(page.locator(".caption")).to_have_count(2)


def until_tries(page: Page, air: Air, count: int) -> None:
    for _ in range(3000):
        if len(air.urls) >= count:
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{len(air.urls)} tries, not {count}")


def test_a_connection_lost_before_the_history_was_there_gets_it_later(
    hall: DisplayServer, visit: Visit
) -> None:
    for number in range(1, 41):
        hall.say(number, f"Esta es la frase {number}.", final=True)
    page = visit(fresh=True)
    air = Air(page, drop="earlier")
    page.reload()
    until(page, "document.querySelectorAll('#captions .caption').length === 40")
    assert len(air.urls) == 2
    assert "since" not in air.urls[1]
    assert page.locator(".caption .text").all_text_contents() == [
        f"Esta es la frase {number}." for number in range(1, 41)
    ]


def test_silence_is_no_loss_and_it_comes_back_at_once_when_the_network_does(
    hall: DisplayServer, visit: Visit
) -> None:
    """A server of an earlier version sends nothing during silence; that is no dead link."""
    page = visit(fresh=True)
    page.clock.install()
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    # The page's last fetch: a hall that closes after it aborts nothing.
    with page.expect_request_finished(lambda request: request.url.endswith("/wakelock.js")):
        page.reload()
    listening(page)
    page.clock.fast_forward(120_000)
    page.wait_for_timeout(200)
    listening(page)
    assert len(sockets) == 1
    hall.close()
    expect(page.locator(STATUS)).to_have_text("Reconnecting")
    # The page's clock is stopped, so that it does not retry by itself.
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=5))
    hall.open()
    page.evaluate("dispatchEvent(new Event('online'))")
    listening(page)


def test_a_page_that_is_not_asked_to_acknowledges_nothing(browser: Browser) -> None:
    with DisplayServer(ack_every=2) as hall:
        page = browser.new_page()
        for number in (1, 2, 3):  # the hub asks the first and third to acknowledge
            page.goto(hall.url)
            listening(page)
            hall.say(number, f"Frase {number}.", final=True)
            expect(page.locator("#captions")).to_contain_text(f"Frase {number}.")
            page.evaluate(PAINTED)  # by now a page has sent its acknowledgements
        wait_for(lambda: hall.glass("audience") >= 2)
        page.close()
        assert hall.glass("audience") == 2
