"""The operator's page in each of its languages, with the real hub and desk."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit, place_of
from tests.support.console import OPEN, keeper, opened, row, setup
from tests.support.page_words import LANGS, texts

pytestmark = pytest.mark.browser

SERVES = OperatorServer

CUT_OFF = """[...document.querySelectorAll("button, .word, th, h2, label")]
    .filter((one) => one.checkVisibility() && getComputedStyle(one).display !== "inline")
    .filter((one) => one.scrollWidth > one.clientWidth + 1
        || (one.matches(".word") && one.scrollHeight > one.clientHeight + 4))
    .map((one) => one.textContent.trim())"""
"""Elements wider than their place, and buttons whose words need more lines than they have."""


def said(lang: str, key: str, **values: str) -> str:
    """Return a text as the page shows it, with its values."""
    isolated = {name: f"\u2068{value}\u2069" for name, value in values.items()}
    return texts(lang)[key].format(**(isolated if lang == "ar" else values))


def has_room(page: Page, what: str) -> None:
    width = page.evaluate("innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, (what, width)
    assert page.evaluate(CUT_OFF) == [], (what, width)


@pytest.mark.parametrize("lang", LANGS)
def test_the_desk_speaks_the_browser_s_language_and_has_room_for_it(
    hall: OperatorServer, visit: Visit, lang: str
) -> None:
    page = opened(visit, locale=lang)
    expect(page.locator("html")).to_have_attribute("lang", lang)
    expect(page.locator("#pause .word")).to_have_text(texts(lang)["pause"])
    expect(page.locator("#state")).to_have_text(texts(lang)["state_listening"])
    expect(page.locator("#machine dt").first).to_have_text(texts(lang)["fact_lag"])
    for width, height in [(390, 844), (768, 1024), (1280, 800)]:
        page.set_viewport_size({"width": width, "height": height})
        has_room(page, "desk")
        setup(page)
        has_room(page, "setup")
        page.locator("#tab-now").click()

    hall.hear(1, "So wrote Paul to a fro diet us.", "Así escribió.", unsure={"fro": 0.2})
    page.set_viewport_size({"width": 1024, "height": 768})
    row(page, 1).click()
    expect(row(page, 1).locator(".number")).to_have_text(said(lang, "number", id="1"))
    setup(page).locator("#details").check()
    expect(page.locator("#machine dd").first).to_be_visible()  # they appear automatically
    widths = "[...document.querySelectorAll('#machine dd')].map((one) => one.clientWidth)"
    assert min(page.evaluate(widths)) > 100, "figures have nearly half of the panel"
    page.locator("#tab-now").click()
    page.set_viewport_size({"width": 390, "height": 844})
    for way in ("#edit", "#add-rule", "#type"):
        page.locator(way).click()
        has_room(page, way)
        page.keyboard.press("Escape")

    page.locator("#pause").click()
    expect(page.locator("#state")).to_have_text(texts(lang)["state_paused"])
    if lang != "en":
        reason = texts(lang)["reason_paused"]
        expect(page.locator("#reason")).to_have_text(f"{reason} {texts(lang)['help_paused']}")


def test_a_language_that_is_chosen_is_kept_on_the_device(visit: Visit) -> None:
    page = opened(visit, locale="ko-KR")
    setup(page).locator("#language").select_option("de")
    expect(page.locator("#pause .word")).to_have_text(texts("de")["pause"])
    expect(page.locator("#pause")).to_be_enabled()  # the tab is still logged in
    expect(page.locator("#language")).to_have_value("de")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#enter")).to_have_text(texts("de")["enter"])


def test_in_arabic_the_desk_runs_from_right_to_left_and_what_was_heard_does_not(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit, OPEN, locale="ar-EG")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    hall.hear(1, "the first of two", "La primera.")
    heard = row(page, 1).locator(".heard")
    expect(heard).to_have_text("the first of two")
    assert heard.evaluate("one => getComputedStyle(one).direction") == "ltr"
    now, prepared = (place_of(page.locator(each)) for each in ("#tab-now", "#tab-setup"))
    assert prepared["x"] + prepared["width"] <= now["x"] + 1
    hall.level(-21)
    number = page.locator("#level-number")
    keeper(page)
    expect(number).to_have_text("\u2068-21 dBFS\u2069")
    page.locator("#pause").click()
    expect(page.locator("#reason")).to_contain_text(texts("ar")["help_paused"])
    reason = page.locator("#reason").evaluate("one => getComputedStyle(one).direction")
    assert reason == "rtl"
    page.locator("#add-rule").click()
    first, second = (place_of(page.locator(".chip").nth(at)) for at in (0, 1))
    assert first["x"] < second["x"], "English words stand in their own order"
