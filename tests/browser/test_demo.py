"""The demo sermon through the real program to the pages of a real browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.support.program import Program, started
from tests.browser.conftest import until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SENTENCES = 2
SAID = """window.said = {};
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  for (const item of document.querySelectorAll("#captions .caption")) {
    const text = item.querySelector(".text").textContent.replace(/\\s+/g, " ");
    const known = (window.said[item.dataset.id] ??= []);
    if (known[known.length - 1] !== text) known.push(text);
  }
}).observe(document.querySelector("#captions"),
           {childList: true, characterData: true, subtree: true}));"""
ALL_SAID = "Object.values(window.said).map((versions) => versions.at(-1)).join(' ')"
"""All captions that the page has shown so far, each in its last version."""


def finals(program: Program) -> dict[int, str]:
    """Return the newest text of each caption in the session's journal."""
    newest = {message["id"]: message["target"]["text"] for message in program.journal()}
    return {number: text for number, text in newest.items() if text}


def opened(browser: Browser, url: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 720}, locale="en-GB")
    page.add_init_script(SAID)
    page.goto(url)
    return page


def test_every_sentence_of_the_demo_gets_onto_every_page(browser: Browser, tmp_path: Path) -> None:
    """The audience page ends with the journal's captions; the projector page has shown each one."""
    with started("demo", "--starter", "--fast", "--loop", cwd=tmp_path) as program:
        phone = opened(browser, program.address)
        wall = opened(browser, program.address + "/projector")
        blocks = opened(browser, program.address + "/projector?mode=blocks")
        # A busy machine opens the browser several captions late; the projector shows new ones only.
        first = len(finals(program)) + 1
        program.until(lambda: len(finals(program)) >= first + SENTENCES, 240, "captions")
        shown = dict(list(finals(program).items())[first : first + SENTENCES])
        for page in (phone, wall, blocks):
            until(page, f"({ALL_SAID}).includes({json.dumps(list(shown.values())[-1])})")
        on_phone = " ".join(phone.locator(".caption .text").all_text_contents())
        for text in shown.values():
            assert text in on_phone
        for page in (wall, blocks):
            for text in shown.values():
                assert text in page.evaluate(ALL_SAID)
        expect(phone.locator("#status-text")).to_have_text("Listening")
        for page in (phone, wall, blocks):
            page.close()
        program.stop()
