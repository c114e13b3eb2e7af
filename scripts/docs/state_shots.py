"""One picture of all that the audience page says about how it goes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, get_args

from playwright.sync_api import Browser

from pipeline.core.types import State
from scripts.support.display_server import DisplayServer

SMALL: dict[str, Any] = {
    "viewport": {"width": 300, "height": 200},
    "locale": "en-GB",
    "color_scheme": "light",
}
COLUMNS = 4
CALM_MS = 600
SAID = [
    ("The Lord is my shepherd; I shall not want.", "El Señor es mi pastor; nada me faltará."),
    ("He restores my soul.", "Él restaura mi alma."),
]


def shoot_states(browser: Browser) -> bytes:
    """Take a picture in every state, and lay them out side by side."""
    images = "".join(
        f'<img src="data:image/png;base64,{b64encode(picture).decode()}">'
        for picture in _pictures(browser)
    )
    page = browser.new_page(viewport={"width": COLUMNS * 304 + 4, "height": 100})
    page.set_content(
        f"<style>body {{ display: grid; grid-template-columns: repeat({COLUMNS}, 300px);"
        " gap: 4px; margin: 4px; background: #888; }</style>" + images
    )
    sheet = page.screenshot(full_page=True)
    page.close()
    return sheet


def _pictures(browser: Browser) -> Iterator[bytes]:
    for state in get_args(State):
        if state == "speech":
            continue  # looks as `listening` does
        with DisplayServer() as hall:
            _say(hall)
            hall.state(state)
            yield _take(browser, hall)
    with DisplayServer(mode="dry-run") as hall:
        yield _take(browser, hall)
    with DisplayServer() as hall:
        yield _take(browser, hall)  # nothing has been said yet
    with DisplayServer() as hall:
        _say(hall)
        yield _take(browser, hall, then=hall.close)
    with DisplayServer() as hall:
        yield _take(browser, hall, then=hall.close)


def _say(hall: DisplayServer) -> None:
    for number, (heard, shown) in enumerate(SAID, 1):
        hall.say(number, shown, heard, final=True)


def _take(browser: Browser, hall: DisplayServer, then: Callable[[], None] = lambda: None) -> bytes:
    page = browser.new_page(**SMALL)
    page.goto(hall.url)
    page.wait_for_timeout(CALM_MS)
    then()
    page.wait_for_timeout(CALM_MS)
    picture = page.screenshot()
    page.close()
    return picture
