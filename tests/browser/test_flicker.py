"""How much unchanged text moves, measured on the captions of the demo sermon.

`demo.jsonl` has the caption messages of `stark-translate demo` as a display got them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

MESSAGES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).with_name("demo.jsonl")).read_text("utf-8").splitlines()
]
HELLO = {
    "type": "hello",
    "protocol": 1,
    "session": "demo",
    "mode": "live",
    "seq": 0,
    "source": "en",
    "targets": ["es"],
    "lang": "es",
    "state": "speech",
    "reason": "",
    "resumed": False,
    "captions": [],
}
# Each caption's text, the length of its solid part, and each word's position in it.
LOOK = """() => Object.fromEntries(
  [...document.querySelectorAll("#captions .caption")].map((item) => {
    const home = item.getBoundingClientRect();
    const words = [];
    let text = "", solid = 0;
    const nodes = document.createTreeWalker(item.querySelector(".text"), NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const node = nodes.currentNode;
      for (const match of node.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + 1);
        const box = range.getBoundingClientRect();
        words.push([text.length + match.index, box.left - home.left, box.top - home.top]);
      }
      text += node.data;
      if (node.parentElement.closest(".stable")) solid = text.length;
    }
    return [item.dataset.id, {text, solid, words}];
  }))"""


def agreement(was: str, now: str) -> int:
    """Return the length of the common prefix of two texts."""
    return next(
        (i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b),
        min(len(was), len(now)),
    )


class Flicker:
    """Sums up the changes that disturb a reader."""

    def __init__(self) -> None:
        self.changed = 0
        """Characters on the screen that were replaced by others."""
        self.moved = 0
        """Words that moved in their caption although no text before them has changed."""
        self.dimmed = 0
        """Characters of unchanged words that were solid and are not solid any more."""

    def compare(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Count the changes from one state of the screen to the next."""
        for name, now in after.items():
            was = before.get(name, {"text": "", "solid": 0, "words": []})
            same = agreement(was["text"], now["text"])
            self.changed += len(was["text"]) - same
            whole = same if was["solid"] <= same else now["text"][:same].rfind(" ") + 1
            self.dimmed += max(0, min(was["solid"], whole) - now["solid"])
            ends = [start - 1 for start, _, _ in now["words"][1:]] + [len(now["text"])]
            places = {start: (x, y) for start, x, y in was["words"]}
            for (start, x, y), end in zip(now["words"], ends, strict=True):
                if end <= same and start in places:
                    old_x, old_y = places[start]
                    self.moved += abs(old_x - x) > 1 or abs(old_y - y) > 1


def replay(page: Page) -> Flicker:
    """Give the page the demo one message at a time, and check it after each."""
    routes: list[WebSocketRoute] = []

    def serve(route: WebSocketRoute) -> None:
        routes.append(route)
        route.on_message(lambda _: None)
        route.send(json.dumps(HELLO))

    page.route_web_socket("**/ws**", serve)
    page.reload()
    expect(page.locator("#status")).to_have_attribute("data-tone", "good")
    flicker = Flicker()
    before: dict[str, Any] = {}
    for message in MESSAGES:
        routes[-1].send(json.dumps(message))
        until(page, f"document.querySelector('#captions').textContent.includes({text_of(message)})")
        after = page.evaluate(LOOK)
        flicker.compare(before, after)
        before = after
    return flicker


def text_of(message: dict[str, Any]) -> str:
    return json.dumps(message["target"]["text"])


def least_changes() -> int:
    """Count the characters that the messages themselves revise."""
    texts: dict[int, str] = {}
    changed = 0
    for message in MESSAGES:
        was, now = texts.get(message["id"], ""), message["target"]["text"]
        changed += len(was) - agreement(was, now)
        texts[message["id"]] = now
    return changed


@pytest.mark.slow
def test_only_what_changed_moves_on_the_audience_page(visit: Visit) -> None:
    page = visit(fresh=True, reduced_motion="reduce")
    flicker = replay(page)
    assert flicker.dimmed == 0
    assert flicker.changed == least_changes()
    # A final's last two words may move to the next line together.
    finals = sum(message["final"] for message in MESSAGES)
    assert flicker.moved <= finals / 4
