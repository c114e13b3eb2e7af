"""A past session in a real browser, from `replay`."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.program import started
from tests.journal import message, session

pytestmark = pytest.mark.browser


def test_the_audience_page_shows_a_past_session(browser: Browser, tmp_path: Path) -> None:
    texts = [("Peace.", "Paz."), ("Grace & <b>truth</b>.", "Gracia & <b>verdad</b>.")]
    spoken = [
        message(n, *both, start_s=60.0 * n, end_s=60.0 * n + 3) for n, both in enumerate(texts, 1)
    ]
    session(tmp_path / "sessions", spoken)
    with started("replay", "last", "--speed", "60", cwd=tmp_path) as program:
        page = browser.new_page(locale="en-GB")
        page.goto(program.address)
        expect(page.locator(".caption")).to_have_count(2)
        expect(page.locator("#status-text")).to_have_text("The service has ended")
        assert page.locator(".caption .text").all_text_contents() == [es for _, es in texts]
        page.close()
        program.stop()
