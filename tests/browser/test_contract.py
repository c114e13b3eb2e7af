"""The pages with the golden service: the same messages that the Python side must send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import Visit
from tests.support.golden import MESSAGES, SNAPSHOT

pytestmark = pytest.mark.browser


def replay(page: Page) -> list[dict[str, Any]]:
    """Give the page every message of the service; return its answers."""
    answers: list[dict[str, Any]] = []

    def serve(socket: WebSocketRoute) -> None:
        socket.on_message(lambda data: answers.append(json.loads(data)))
        for message in MESSAGES:
            socket.send(json.dumps(message))

    page.route_web_socket("**/ws**", serve)
    page.reload()
    return answers


def test_the_audience_page_ends_with_the_snapshot(visit: Visit) -> None:
    page = visit(fresh=True)
    answers = replay(page)
    expect(page.locator("#status-text")).to_have_text("The service has ended")
    texts = page.locator(".caption .text")
    expect(texts).to_have_count(len(SNAPSHOT))
    assert texts.all_text_contents() == [caption["target"]["text"] for caption in SNAPSHOT]
    ids = page.locator(".caption").evaluate_all("all => all.map((e) => Number(e.dataset.id))")
    assert ids == [caption["id"] for caption in SNAPSHOT]
    page.wait_for_timeout(200)
    assert answers[-1] == {"type": "ack", "seq": max(m.get("seq", 0) for m in MESSAGES)}


def test_the_projector_ends_with_the_newest_of_it(visit: Visit) -> None:
    page = visit("/projector", fresh=True, viewport={"width": 1280, "height": 720})
    replay(page)
    expect(page.locator("#status-text")).to_have_text("El culto ha terminado")
    expect(page.locator("#captions .caption .text").last).to_have_text(
        SNAPSHOT[-1]["target"]["text"]
    )
    assert "alert" not in page.locator("#captions").inner_text()
