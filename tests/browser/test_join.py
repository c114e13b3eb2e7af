"""The page that invites phones: on a screen and on paper."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

SCREENS = [(1024, 768), (390, 844), (320, 568), (1920, 1080)]


def test_address_and_code_fit_the_screen(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/join")
    expect(page.locator("#address")).to_have_text(hall.url.removeprefix("http://"))
    expect(page.locator("#address")).to_have_attribute("href", f"{hall.url}/")
    until(page, "document.querySelector('#qr').naturalWidth > 0")
    assert page.locator("#qr").get_attribute("alt") == f"QR code of {hall.url}/"
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        until(page, f"innerWidth === {width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        expect(page.locator("#qr")).to_be_in_viewport(ratio=1)
    spoken = page.locator("#invitation span").evaluate_all("all => all.map((e) => e.lang)")
    assert spoken == ["en", "es"]


def test_an_address_that_phones_cannot_open_is_said_but_not_printed(visit: Visit) -> None:
    page = visit("/join")
    expect(page.locator("#problem")).to_contain_text("--host 0.0.0.0")
    page.emulate_media(media="print")
    expect(page.locator("#qr")).to_be_visible()
    expect(page.locator("#tools")).to_be_hidden()


def test_it_prints_on_one_page_with_a_line_of_ones_own(visit: Visit) -> None:
    page = visit("/join", "window.print = () => { window.printed = true; };")
    page.locator("#line").fill("Wi-Fi: Guests <b>2026</b>")
    expect(page.locator("#note")).to_have_text("Wi-Fi: Guests <b>2026</b>")
    page.get_by_role("button", name="Print").click()
    assert page.evaluate("window.printed")
    paper = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) == 1
    page.reload()
    expect(page.locator("#note")).to_have_text("Wi-Fi: Guests <b>2026</b>")


def test_an_answer_that_makes_no_sense_is_said(visit: Visit) -> None:
    page = visit("/join")
    expect(page.locator("#qr")).to_be_visible()
    page.route("**/address", lambda route: route.fulfill(status=200, body="not ours"))
    page.reload()
    expect(page.locator("#problem")).to_contain_text("Reload this page")
    expect(page.locator("#qr")).to_be_hidden()
