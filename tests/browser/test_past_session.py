"""A past session in a real browser, from `replay`."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pipeline.review.report import report
from scripts.support.journal import message, record, session
from scripts.support.program import started

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


def test_a_report_is_drawn_without_a_complaint_and_fits_a_phone(
    browser: Browser, tmp_path: Path
) -> None:
    captions = [message(n, "Grace and peace.", "Gracia y paz.") for n in range(1, 40)]
    records = [record(n, "Grace and peace.", "Gracia y paz.") for n in range(1, 40)]
    page_file = tmp_path / "report.html"
    page_file.write_text(report(session(tmp_path, captions, records=records)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    colours = page.evaluate(
        """() => ["stage-stt", "stage-final", "engine-gemma"].map((name) =>
            getComputedStyle(document.querySelector(`rect.${name}`)).fill)"""
    )
    assert len(set(colours)) == 2
    assert "rgb(0, 0, 0)" not in colours
    page.locator("svg a").first.click()
    assert page.url.endswith("#u1")
    assert complaints == []
    page.close()
