"""A service of hours on the audience page, as fast as it accepts captions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page

from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit, until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEPT = 500
AT_ONCE = 40  # with more, the server would drop the page
UTTERANCES = KEPT + AT_ONCE + 300  # 1.5 hours: a leak of one node per caption would be seen


def measure(page: Page) -> dict[str, float]:
    """Collect garbage; return the page's heap in bytes and its counts of nodes and listeners."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
        page.wait_for_timeout(100)
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return {name: metrics[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}


def scroll_ms(page: Page) -> float:
    """Return the slowest of 60 frames (ms) while the reader scrolls back."""
    elapsed: float = page.evaluate("""async () => {
      const scroller = document.querySelector("#scroller");
      let slowest = 0, last = performance.now();
      for (let frame = 0; frame < 60; frame += 1) {
        scroller.scrollTop -= 120;
        await new Promise((done) => requestAnimationFrame(done));
        const now = performance.now();
        slowest = Math.max(slowest, now - last);
        last = now;
      }
      return slowest;
    }""")
    return elapsed


def test_a_long_service_does_not_grow_the_page(hall: DisplayServer, visit: Visit) -> None:
    """At the end, heap, nodes and listeners are as they were when the history became full."""
    sermon = json.loads(Path("demo/sermon.json").read_text("utf-8"))
    sentences = [sentence["es"] for sentence in sermon["sentences"]]
    page = visit()
    full: dict[str, float] = {}
    for number in range(1, UTTERANCES + 1):
        text = sentences[number % len(sentences)]
        hall.say(number, text[: len(text) // 2], stable=2)
        hall.say(number, f"{number}: {text}", final=True)
        if number % AT_ONCE == 0:
            shown = f"document.querySelector('#captions').textContent.includes('{number}: ')"
            until(page, shown)
        if number == KEPT + AT_ONCE:
            full = measure(page)
    end = measure(page)
    count = page.locator(".caption").count()
    slowest = scroll_ms(page)
    heaps = " -> ".join(f"{at['JSHeapUsedSize'] / 1e6:.2f}" for at in (full, end))
    print(f"{UTTERANCES} utterances: heap {heaps} MB, {end['Nodes']:.0f} nodes, {count} captions")
    print(f"slowest frame when scrolling: {slowest:.0f} ms")
    assert KEPT * 0.9 < count <= KEPT
    assert end["JSHeapUsedSize"] < full["JSHeapUsedSize"] * 1.1 + 200_000
    assert end["Nodes"] < full["Nodes"] * 1.05 + 100
    assert end["JSEventListeners"] <= full["JSEventListeners"]
    assert slowest < 500
    page.locator("#live").click()
    until(page, "document.querySelector('#live').hidden")
