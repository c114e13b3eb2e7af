"""The operator's console and the page that invites phones: no barrier that axe-core can find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from pipeline.check.result import Result, keep
from pipeline.core.reports import Fault
from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit
from tests.support.console import keeper, opened, setup

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RESULTS = [
    Result("settings", True, "en to es.", "", "", 1.0),
    Result("level", True, "Speech at -41 dBFS.", "Turn the gain up.", "", 1.0),
    Result("port", False, "Port 8765 is in use.", "Stop the other one.", "port-in-use", 1.0),
]


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[OperatorServer]:
    keep(tmp_path, RESULTS)
    with OperatorServer(tmp_path) as running:
        yield running


def findings(page: Page) -> list[str]:
    """What axe-core has against a page, however little, and where."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]


def at_work(page: Page, hall: OperatorServer) -> None:
    del hall
    keeper(page)
    setup(page).locator("#check-passed summary").click()
    assert findings(page) == [], "setup"
    page.locator("#tab-now").click()
    page.locator(".row .fixed").hover()


def ruling(page: Page, hall: OperatorServer) -> None:
    del hall
    page.locator(".row .doubt").first.click()
    page.keyboard.press("d")
    page.locator("#rule-write").fill("zor")


def editing(page: Page, hall: OperatorServer) -> None:
    del hall
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator("#edit-dialog")).to_be_visible()


def typing(page: Page, hall: OperatorServer) -> None:
    del hall
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.get_by_label("a notice that stays").check()
    page.locator("#type-text").fill("The sermon starts at 10:40.")
    page.keyboard.press("Enter")
    expect(page.locator("#standing")).to_be_visible()
    page.locator("#type").click()


def inviting(page: Page, hall: OperatorServer) -> None:
    del hall
    page.keyboard.press("Escape")
    setup(page).get_by_role("button", name="Add a volunteer").click()
    expect(page.locator("#invitation")).to_be_visible()


def deciding(page: Page, hall: OperatorServer) -> None:
    page.locator("#tab-now").click()
    hall.hear(4, "He is our peace.", "Él es la guerra.", draft="Él es paz.", is_doubtful=True)
    expect(page.locator("#doubt")).to_be_visible()


def set_apart(page: Page, hall: OperatorServer) -> None:
    """Paused, blanked, too loud, one caption hidden and one edited, a refusal."""
    page.keyboard.press("b")
    page.keyboard.press("p")
    # Pausing clears the fault: it must come after.
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    fault = Fault("listen", "pause-forgotten", "Captions are paused.")
    hall._loop.call_soon_threadsafe(hall.coordinator.on_fault, fault)
    expect(page.locator("#reminder")).to_be_visible()
    page.locator(".row .heard").last.click()
    page.keyboard.press("h")
    page.locator(".row .heard").first.click()
    page.keyboard.press("e")
    page.locator("#edit-text").fill("La primera. x")
    page.keyboard.press("Enter")
    expect(page.locator("[data-standing=edited]")).to_have_count(1)
    hall.level(-1, clipped=True)
    page.evaluate("notice.textContent = 'Not done.'; notice.dataset.tone = 'bad'")


def lost(page: Page, hall: OperatorServer) -> None:
    hall.close()
    expect(page.locator("#state")).to_have_text("Connection lost")


def login(page: Page, hall: OperatorServer) -> None:
    hall.open()
    page.evaluate("sessionStorage.clear()")
    page.goto(f"{hall.url}/operator")
    page.reload()
    page.locator("#by-token summary").click()
    page.locator("#token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#login-problem")).not_to_be_empty()


def test_the_console_has_no_barriers(hall: OperatorServer, visit: Visit) -> None:
    """One page goes through all that it can look like; narrow and light is `test_every_page`."""
    options: dict[str, Any] = {"viewport": {"width": 768, "height": 1024}}
    hall.facts.hold_doubtful = True
    page = opened(visit, color_scheme="dark", **options)
    hall.hear(1, "the first", "La primera.", draft="primera")
    hall.filter(2, "thank you", "stock-phrase")
    hall.hear(3, "the pro pitty asian of zor", "La propiciación.", unsure={"zor": 0.2})
    hall.level(-20)
    expect(page.locator(".row")).to_have_count(3)
    expect(page.locator("#machine")).not_to_be_empty()
    for act in (at_work, ruling, editing, typing, inviting, deciding, set_apart, lost, login):
        act(page, hall)
        page.wait_for_timeout(300)  # colours fade
        assert findings(page) == [], act.__name__
