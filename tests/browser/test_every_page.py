"""Every page in every state: axe-core's findings on a narrow phone, with large text."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from scripts.docs.page_states import page_states
from tests.browser.conftest import barriers, told

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NARROW: dict[str, Any] = {"viewport": {"width": 320, "height": 640}, "reduced_motion": "reduce"}
WIDE_ANYWAY = {"demo", "video mixer"}
"""Three pages side by side, and an image for a mixer: nobody reads them on a phone."""
COLOURS = "axe.run(document, { runOnly: ['color-contrast'], resultTypes: ['violations'] })"
IS_DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
STILL = "Promise.allSettled(document.getAnimations().map((each) => each.finished))"
STICKS_OUT = """() => {
  const out = (box, frame) => box.width > 2 && (box.left < frame.left - 2
    || box.right > frame.right + 2 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2);
  const page = { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity };
  const cut = [...document.querySelectorAll("button, select, textarea")].filter((each) => {
    if (!each.checkVisibility()) return false;
    const words = document.createRange(), box = each.getBoundingClientRect();
    words.selectNodeContents(each);
    return out(box, page)
      || (each.matches("button:not(#undo)") && out(words.getBoundingClientRect(), box));
  });
  const found = cut.map((each) => each.id || each.textContent);
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page");
  const main = document.querySelector("main");
  if (main && main.clientHeight < innerHeight / 5) found.push("no room for captions");
  return found;
}"""


def findings(page: Page) -> list[str]:
    """Return axe-core's findings in the page's own scheme; in the other one, for colours only."""
    page.evaluate(STILL)
    found = barriers(page)
    page.emulate_media(color_scheme="light" if page.evaluate(IS_DARK) else "dark")
    page.evaluate(STILL)
    return found + told(page.evaluate(COLOURS)["violations"])


def test_no_page_has_a_barrier_in_any_state(browser: Browser) -> None:
    """In light and dark, 320 px wide: nothing overflows, even with text twice as large."""
    wrong: dict[str, list[str]] = {}
    seen = 0
    for state in page_states():
        context = browser.new_context(**{"locale": "en-GB", **NARROW, **state.options})
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(state.url)
        page.locator(state.ready).wait_for(state="attached")
        state.act(page)
        seen += 1
        problems = findings(page)
        for size in ("100%", "200%"):
            page.evaluate(f"document.documentElement.style.fontSize = '{size}'")
            if state.name not in WIDE_ANYWAY:
                problems += [f"sticks out at {size}: {each}" for each in page.evaluate(STICKS_OUT)]
        if problems:
            wrong[state.name] = problems
        if seen == 1:
            page.evaluate("document.querySelector('#open').removeAttribute('aria-label')")
            assert any(each.startswith("button-name") for each in findings(page)), "it is blind"
        context.close()
    assert wrong == {}
    assert seen > 30
