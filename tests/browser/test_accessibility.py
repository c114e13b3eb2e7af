"""The pages for everybody: zoom, the keyboard, narrow and wide screens."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import Visit, place_of, until

pytestmark = pytest.mark.browser


def talk(hall: DisplayServer) -> None:
    """Show a history, a caption in Arabic and a growing one."""
    for number in range(1, 31):
        hall.say(number, f"Frase número {number} del sermón, ni corta ni larga.", final=True)
    hall.show(
        caption(31, "The Lord is my shepherd.", "الرب راعي فلا يعوزني.", lang="ar", final=True)
    )
    hall.say(32, "El Señor es mi pas", "The Lord is my shep", stable=8)


def test_all_can_be_reached_on_a_narrow_phone_at_twice_the_size(
    hall: DisplayServer, visit: Visit
) -> None:
    """Zoom of 200 % halves the CSS pixels and doubles the density; 320 pixels become 160."""
    talk(hall)
    hall.say(33, "Anticonstitucionalísimamente" * 3, "w" * 200, final=True)
    viewport = {"width": 160, "height": 400}
    page = visit(viewport=viewport, device_scale_factor=2, locale="es-MX")
    page.locator("#open").click()
    expect(page.locator("#settings")).to_be_visible()
    while page.locator("#larger").is_enabled():
        page.locator("#larger").click()
    for name in ("#theme-contrast", "#source", "#lang", "#page", "#done"):
        control = page.locator(name)
        control.scroll_into_view_if_needed()
        box = place_of(control)
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= viewport["width"] + 1
    assert page.locator("#settings").evaluate("e => e.scrollWidth - e.clientWidth") == 0
    page.locator("#source").check()
    page.locator("#done").click()
    expect(page.locator(".caption .source").last).to_be_visible()
    wider = """() => Math.max(...[document.documentElement, document.body,
        document.querySelector("#scroller")].map((e) => e.scrollWidth - e.clientWidth))"""
    assert page.evaluate(wider) <= 0
    last = place_of(page.locator(".caption .text").last)
    assert last["width"] <= viewport["width"]


def test_lines_do_not_get_too_long_on_a_large_screen(hall: DisplayServer, visit: Visit) -> None:
    """Lines of 45 to 75 characters are easy to read."""
    hall.say(1, "Porque de tal manera amó Dios al mundo. " * 6, final=True)
    page = visit(viewport={"width": 3840, "height": 2160})
    text = page.locator(".caption .text")
    expect(text).to_be_visible()
    per_line = text.evaluate("""e => {
        const lines = e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight);
        return e.textContent.length / Math.round(lines);
    }""")
    assert 40 <= per_line <= 75


def test_nothing_flies_for_who_wants_no_motion(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/projector", viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    expect(page.locator("#status")).to_be_hidden()
    for number in range(1, 5):
        hall.say(number, f"Esta es la frase número {number} de hoy.", final=True)
        until(page, f"document.querySelector(\"#captions [data-id='{number}']\") !== null")
        assert page.evaluate("document.getAnimations().length") == 0


def test_the_keyboard_reaches_everything(hall: DisplayServer, visit: Visit) -> None:
    """Tab reaches each control in page order; Escape leaves the settings."""
    talk(hall)
    page = visit()
    expect(page.locator("#aloud")).to_be_visible()
    focused = "document.activeElement.id"
    for name in ("aloud", "open"):
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == name
    page.keyboard.press("Enter")
    expect(page.locator("#settings")).to_be_visible()
    seen: list[str] = []
    for _ in range(12):
        seen.append(page.evaluate(focused))
        page.keyboard.press("Tab")
    wanted = ["done", "smaller", "larger", "theme-auto", "source", "lang", "page"]
    assert [name for name in dict.fromkeys(seen) if name in wanted] == wanted
    page.locator("#larger").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.size") == "4"
    page.locator("#theme-auto").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.locator("#source").focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.classList.contains('with-source')")
    page.locator("#lang").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".caption .text").first).to_have_attribute("lang", "en")
    page.keyboard.press("Escape")
    expect(page.locator("#settings")).to_be_hidden()
    assert page.evaluate(focused) == "open"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "scroller"
    page.keyboard.press("PageUp")
    expect(page.locator("#live")).to_be_visible()
    page.wait_for_timeout(500)  # the browser scrolls smoothly
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#live")).to_be_hidden()
