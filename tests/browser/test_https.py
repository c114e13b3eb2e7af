"""The pages over https: their socket is also secure, and their policy permits it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit
from tests.support.certificates import make

pytestmark = pytest.mark.browser


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[DisplayServer]:
    with DisplayServer(certificate=make(tmp_path)) as running:
        yield running


def test_captions_come_over_https(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/projector", ignore_https_errors=True)
    hall.say(1, "El Señor es mi pastor.", final=True)
    expect(page.get_by_text("El Señor es mi pastor.").first).to_be_visible()
    assert page.evaluate("location.protocol") == "https:"
    assert hall.clients("projector") == 1


def test_the_page_for_the_wall_shows_the_secure_address(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/join", ignore_https_errors=True)
    expect(page.get_by_text(hall.url.removeprefix("https://")).first).to_be_visible()


def test_http_at_this_port_explains_the_warning_and_leads_on(
    hall: DisplayServer, browser: Browser
) -> None:
    page = browser.new_page(ignore_https_errors=True, viewport={"width": 390, "height": 844})
    page.goto(f"{hall.url.replace('https', 'http', 1)}/")
    expect(page.get_by_role("heading", name="Your phone will warn you once")).to_be_visible()
    expect(page.get_by_role("img", name="Show Details")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="Open the captions").click()
    expect(page.locator("#status-text")).to_have_text("Listening")
    assert page.url == f"{hall.url}/"
    page.close()
