"""The demo page: projector, phone and operator's page side by side, on a screen of any size."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import note_complaints, place_of, until

pytestmark = pytest.mark.browser


def test_three_pages_in_one_show_a_caption_each_in_its_language(browser: Browser) -> None:
    with DisplayServer(mode="demo", extra_targets=["fr"]) as hall:
        page = browser.new_page(locale="en-GB")
        problems: list[str] = []
        note_complaints(page, problems)
        page.goto(f"{hall.url}/demo#token=secret")
        hall.say(1, "Dios es fiel.", final=True)
        hall.show_in("fr", caption(1, "God is faithful.", "Dieu est fidèle.", final=True))
        wall, phone, desk = (page.frame_locator(f"#{name}") for name in ("wall", "phone", "desk"))
        expect(wall.locator("#captions")).to_contain_text("Dios es fiel.")
        expect(phone.locator("#captions")).to_contain_text("Dieu est fidèle.")
        expect(page.locator("#phone-caption")).to_have_text("A phone: French")
        # The token in the address has logged the operator in, and is no longer shown.
        expect(desk.locator("#login")).to_be_hidden()
        expect(desk.get_by_text("Pause", exact=True)).to_be_visible()
        assert "token" not in page.url
        for width, height in [(1440, 900), (1024, 768), (390, 844)]:
            page.set_viewport_size({"width": width, "height": height})
            until(page, f"innerWidth === {width}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            wall_box = place_of(page.locator(".wall div"))
            assert wall_box["width"] / wall_box["height"] == pytest.approx(16 / 9, rel=0.02)
            if width > 1000:
                assert page.evaluate("document.documentElement.scrollHeight") <= height
        assert problems == []
        page.close()
