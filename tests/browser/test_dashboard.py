"""The page of all services in a real browser, on a phone and on a desk."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from pipeline.dictionary.rules import Rule
from pipeline.evaluation.paired_bootstrap import Difference
from pipeline.learning.compare import COMPARISONS, ModelComparison
from pipeline.learning.cycle import keep_focus
from pipeline.learning.dashboard import dashboard
from pipeline.learning.data.collect import CollectSettings, collect
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.verdict import Measured
from tests.browser.conftest import barriers, note_complaints, place_of
from tests.support.services import GOOD, STARTED, UNSURE, WRONG, decide, hold

pytestmark = pytest.mark.browser

WEEKS = 26


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    """Write the page of half a year: reviews, a focus, model comparisons, the longest names."""
    place = tmp_path / "services"
    folders = [
        hold(place, [GOOD, UNSURE, WRONG], started=STARTED + timedelta(days=7 * week))
        for week in range(WEEKS)
    ]
    for folder in folders[::2]:
        decide(folder, 1, "approved", GOOD.source, GOOD.target)
        decide(folder, 2, "corrected", "Turn with me to the book of Esther.", UNSURE.target)
    (folders[3] / "diagnostics.jsonl").write_bytes(b"broken\n{}\n")
    data = DataFolder(place / "learning")
    readable = [folder for folder in folders if folder != folders[3]]
    with data.hold():
        rules = [Rule("esther", ("as tar",), "Esther")]
        collect(data, readable, CollectSettings(rules=rules, speaker="Ana María de la Cruz"))
        keep_focus(data, folders[0].parent)
    worse = Difference(50.0, 47.0, -3.0, -4.0, -2.0, 1.0, "worse")
    COMPARISONS.append(
        data,
        ModelComparison(
            utc="2026-11-22T09:30:00.000+00:00",
            role="gemma",
            old="starter",
            new="/srv/stark-translate/learning/gemma/model/starter-Q4_K_M.gguf",
            old_sha256="",
            new_sha256="",
            measured=(Measured(set="gate", measure="chrF++", count=100, difference=worse),),
            old_ms=None,
            new_ms=None,
            verdict="keep",
            reasons=("chrF++ of gate, theological -3.0 (-4.0 to -2.0)",),
        ),
    )
    path = place / "dashboard.html"
    path.write_text(dashboard(folders, data), encoding="utf-8")
    return path


def test_axe_finds_nothing_in_the_dashboard_and_the_newest_service_is_in_sight(
    browser: Browser, page_file: Path
) -> None:
    complaints: list[str] = []
    page = browser.new_page()
    note_complaints(page, complaints)
    page.goto(page_file.as_uri())
    parts = ["Words misheard", "Church words misheard", "Good captions", "How sure", "Services"]
    assert page.locator("h2").all_text_contents() == [*parts, "What to look at next", "Models"]
    page.keyboard.press("Tab")  # a keyboard reaches what is wider than a phone
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "Words misheard"
    looks: list[tuple[int, Literal["dark", "light"]]] = [(1280, "dark"), (390, "light")]
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        page.reload()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        newest = place_of(page.locator("figure").first.locator("svg text").last)
        assert newest["x"] >= 0
        assert newest["x"] + newest["width"] <= width, "it is on the right, without scrolling"
        assert barriers(page) == []
    scrolls = "(plot) => plot.scrollWidth > plot.clientWidth"
    assert page.get_by_role("region", name="Services").evaluate(scrolls)
    assert complaints == []
    page.close()
