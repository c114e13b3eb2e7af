"""The page that invites phones, on a screen and on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pipeline.config.schema import Church
from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

SCREENS = [(1024, 768), (390, 844), (320, 568), (1920, 1080)]


def test_address_and_code_fit_the_screen(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/join", fresh=True)
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
    expect(page.locator("#problem")).to_contain_text("--host 0.0.0.0")
    page.emulate_media(media="print")  # what phones cannot open is said, but not printed
    expect(page.locator("#qr")).to_be_visible()
    expect(page.locator("#tools")).to_be_hidden()
    page.emulate_media(media="screen")
    page.route("**/address", lambda route: route.fulfill(status=200, body="not ours"))
    page.reload()
    expect(page.locator("#problem")).to_contain_text("Reload this page")
    expect(page.locator("#qr")).to_be_hidden()


def test_it_prints_on_one_page_with_everything_on_it(browser: Browser, tmp_path: Path) -> None:
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>')
    church = Church(name="Grace Community Church of the Valley", logo=str(logo), colour="#7a1f3d")
    with DisplayServer(extra_targets=("fr", "de", "pt", "ko"), church=church) as hall:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script("window.print = () => { window.printed = true; };")
        page.goto(f"{hall.url}/join")
        expect(page.get_by_role("button", name="Print")).to_be_in_viewport(ratio=1)
        expect(page.locator("#wifi")).to_be_hidden()
        page.get_by_label("Name of the Wi-Fi").fill("Guests <b>2026</b>")
        page.get_by_label("Its password").fill("welcome home")
        page.get_by_label("A line of your own").fill("Ask Ruth at the door")
        until(page, "document.querySelector('#wifi-qr').naturalWidth > 0")
        expect(page.locator("#ssid")).to_have_text("Guests <b>2026</b>")
        names = ["Español", "Français", "Deutsch", "Português", "한국어", "English"]
        expect(page.locator("#langs li")).to_have_text(names)
        page.get_by_role("button", name="Print").click()
        assert page.evaluate("window.printed")
        for size in ("A4", "Letter"):
            paper = page.pdf(format=size)
            assert len(re.findall(rb"/Type\s*/Page\b", paper)) == 1
        page.reload()
        expect(page.locator("#password")).to_have_text("welcome home")
        expect(page.locator(".church")).to_have_text("Grace Community Church of the Valley")
        band = page.locator(".church").evaluate("(e) => getComputedStyle(e).backgroundColor")
        assert band == "rgb(122, 31, 61)"
        page.close()
