"""The page of all services as operators open it: with a token, its own style, checked by axe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pipeline.learning.dashboard import dashboard
from pipeline.learning.data.folder import DataFolder
from pipeline.session.past_services import DASHBOARD
from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit
from tests.support.services import GOOD, UNSURE, hold

pytestmark = pytest.mark.browser


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    folder = hold(tmp_path, [GOOD, UNSURE])
    page = dashboard([folder], DataFolder(tmp_path / "learning"))
    (tmp_path / DASHBOARD).write_text(page, encoding="utf-8")
    return tmp_path


@pytest.fixture
def hall(kept: Path) -> Iterator[DisplayServer]:
    """Serve past services to operators."""
    with DisplayServer(sessions=kept) as running:
        yield running


def test_an_operator_sees_it_as_it_was_made(visit: Visit) -> None:
    page = visit("/dashboard#token=secret", color_scheme="dark")
    expect(page.locator("h1")).to_have_text("All services")
    expect(page.locator("h2").first).to_have_text("Good captions")
    expect(page).to_have_title("Captions: all services")
    assert "token" not in page.url
    line = page.locator("h2").first.evaluate("(e) => getComputedStyle(e).borderBottomStyle")
    assert line == "solid", "its own style"
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_without_a_token_it_asks_for_one(visit: Visit) -> None:
    page = visit("/dashboard", answers=frozenset({401, 403}))
    page.get_by_text("With the password instead").click()
    for word in ("guess", "secret"):
        page.get_by_label("Password of the desk").fill(word)
        page.keyboard.press("Enter")
        if word == "guess":
            expect(page.locator("#login-problem")).to_have_text("The token is wrong.")
    expect(page.locator("h1")).to_have_text("All services")


def test_the_desk_opens_it_without_asking(visit: Visit) -> None:
    page = visit("/operator#token=secret", viewport={"width": 1280, "height": 900})
    page.get_by_role("tab", name="Setup").click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="How all services are doing").click()
    expect(opened.value.locator("h1")).to_have_text("All services")


def test_what_is_not_made_yet_says_what_to_run(visit: Visit, kept: Path) -> None:
    (kept / DASHBOARD).unlink()
    page = visit("/dashboard#token=secret", answers=frozenset({404}))
    expect(page.locator("#problem")).to_contain_text("stark-translate dashboard")
    expect(page.locator("#login")).to_be_hidden()
