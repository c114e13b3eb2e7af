"""The report of a past session in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from pipeline.core.types import Correction
from pipeline.records.events import FaultEvent, Record
from pipeline.review.report import report
from scripts.support.journal import message, record, session, utc
from scripts.support.records import health_record
from tests.browser.conftest import barriers, note_complaints

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def test_a_report_fits_a_phone_and_axe_finds_nothing_in_it(
    browser: Browser, tmp_path: Path
) -> None:
    fix = Correction("grace", "grays", "Grace", 0)
    captions = [message(n, "Grace and peace.", "Gracia y paz.") for n in range(1, 40)]
    captions.append(message(40, "Amen.", "Así sea.", engine="operator"))
    records: list[Record] = [
        record(
            n,
            "Grace and peace.",
            "Gracia y paz.",
            flags=("estimate:flag", "agreement:reject"),
            corrections=(fix,),
        )
        for n in range(1, 41)
    ]
    fault = FaultEvent(utc=utc(9), stage="translate", code="final-late", message="Too late.")
    calm = health_record(utc=utc(0), audio_s=0.0)
    records += [record(50, "Thank you.", filtered="stock-phrase"), calm, fault]
    page_file = tmp_path / "report.html"
    page_file.write_text(report(session(tmp_path, captions, records=records)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    complaints: list[str] = []
    note_complaints(page, complaints)
    page.goto(page_file.as_uri())
    parts = ["Worth a look", "What went wrong", "Timeline", "How quickly"]
    parts += ["Corrected words", "Not shown", "What was said"]
    assert page.locator("h2").all_text_contents() == parts
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    colours = page.evaluate(
        """() => ["lane", "engine-gemma"].map((name) =>
            getComputedStyle(document.querySelector(`rect.${name}`)).fill)"""
    )
    assert len(set(colours)) == 2
    assert "rgb(0, 0, 0)" not in colours
    page.locator("svg a").first.click()  # the row stands out
    assert page.url.endswith("#u1")
    assert complaints == []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert barriers(page) == [], scheme
    page.close()
