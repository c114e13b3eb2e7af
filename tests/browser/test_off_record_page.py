"""Off the record, as operators and the hall see it, with the real hub and desk."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pipeline.core.files import LineFile
from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit, until
from tests.support.console import audience, opened, reconnect, row

pytestmark = pytest.mark.browser

SERVES = OperatorServer


def speak(hall: OperatorServer) -> None:
    """Say three sentences, the last two in the last 10 s."""
    hall.hear(1, "peace be with you", "la paz sea con ustedes", draft="la paz")
    hall.hear(4, "please pray for Ludmila", "oren por Ludmila", draft="oremos por Ludmila")
    hall.compare(4, "oren por Ludmila", "recen por Ludmila")
    hall.hear(5, "she told Ludmila everything", "le contó todo a Ludmila")


def hold(page: Page) -> None:
    """Hold the button until it acts."""
    page.locator("#off-record").hover()
    page.mouse.down()
    expect(page.locator("#state")).to_have_text("Off the record")
    page.mouse.up()


def hold_key(page: Page, key: str) -> None:
    """Hold a key until it acts."""
    page.keyboard.down(key)
    expect(page.locator("#state")).to_have_text("Off the record")
    page.keyboard.up(key)


WORDS = (
    "document.documentElement.outerHTML + "
    "[...document.querySelectorAll('textarea, input')].map((one) => one.value).join()"
)
"""All text in the document, shown or not, form fields included."""


def words(page: Page) -> str:
    return str(page.evaluate(WORDS))


def test_one_key_and_nobody_has_the_words(hall: OperatorServer, visit: Visit) -> None:
    speak(hall)
    coordinator, people, wall = opened(visit), audience(visit), visit("/projector")
    hall.hear(6, "and Ludmila wept", "y Ludmila lloró")  # screen readers read it out, too
    expect(people.locator("#announcer")).to_contain_text("Ludmila")
    expect(wall.locator("#captions")).to_contain_text("Ludmila")
    expect(row(coordinator, 4).locator(".version")).to_have_count(3)
    button = coordinator.locator("#off-record")
    expect(button.locator(".word")).to_have_text("Hold: off the record")
    expect(coordinator.locator("#off-record-more")).to_have_text("Takes away the last 10 s")
    row(coordinator, 4).click()
    coordinator.keyboard.press("e")  # a dialog that contains the words
    expect(coordinator.locator("#edit-dialog")).to_be_visible()
    coordinator.keyboard.press("Escape")
    hold_key(coordinator, "o")

    expect(coordinator.locator("#state")).to_have_text("Off the record")
    expect(coordinator.locator("#glance")).to_have_attribute("data-tone", "bad")
    expect(button.locator(".word")).to_have_text("Back on the record")
    expect(people.locator("#status-text")).to_have_text("Captions are off for a moment")
    for page in (people, wall):
        until(page, f"!({WORDS}).includes('Ludmila')")
    expect(row(coordinator, 1)).to_be_visible()
    expect(coordinator.locator(".row")).to_have_count(1)
    late_desk, late = opened(visit), visit("/")
    expect(late.locator("#status-text")).to_have_text("Captions are off for a moment")
    expect(late_desk.locator("#state")).to_have_text("Off the record")
    for page in (late_desk, late):
        assert "Ludmila" not in words(page)

    # Neither neighbouring control ends it.
    for _ in range(2):
        coordinator.locator("#pause").click()
        coordinator.locator("#blank").click()
    expect(coordinator.locator("#state")).to_have_text("Off the record")
    button.click()
    expect(coordinator.locator("#state")).to_have_text("Listening")
    expect(late_desk.locator("#off-record-more")).to_contain_text("the last 10 s")
    hall.hear(8, "let us sing", "cantemos")
    expect(people.locator("#captions")).to_contain_text("cantemos")
    assert "Ludmila" not in words(people)


def test_words_that_are_still_in_a_file_are_told(
    hall: OperatorServer, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    speak(hall)
    coordinator = opened(visit)
    with monkeypatch.context() as full:
        full.setattr(LineFile, "rewrite", refuse)
        hold(coordinator)
        expect(coordinator.locator("#reason")).to_contain_text("still in the files")
        expect(coordinator.locator("#state")).to_have_text("Off the record")


def test_a_stray_key_or_touch_takes_nothing_away(hall: OperatorServer, visit: Visit) -> None:
    speak(hall)
    page = opened(visit)
    button = page.locator("#off-record")
    page.keyboard.press("o")
    expect(page.locator("#notice")).to_contain_text("Hold it for a second to go off the record.")
    page.locator("#notice").evaluate("one => (one.textContent = '')")
    button.click()
    expect(page.locator("#notice")).to_contain_text("Hold it for a second to go off the record.")
    button.press("Enter")  # on the button itself
    page.evaluate("document.activeElement.blur()")
    expect(button).not_to_have_class("holding")
    page.keyboard.down("o")
    page.evaluate("dispatchEvent(new Event('blur'))")  # another window got the focus
    expect(button).not_to_have_class("holding")
    page.wait_for_timeout(1200)
    page.keyboard.up("o")
    assert not hall.facts.off_record
    expect(row(page, 5)).to_be_visible()

    hold_key(page, "o")
    page.keyboard.press("o")  # a short press ends it
    expect(page.locator("#state")).to_have_text("Listening")
    hold(page)
    button.click()
    expect(page.locator("#state")).to_have_text("Listening")


def test_keys_do_nothing_where_somebody_types_or_looks_elsewhere(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    page.evaluate(
        """() => {
          const box = document.createElement("div");
          box.setAttribute("role", "textbox");
          box.tabIndex = 0;
          document.body.append(box);
          box.focus();
        }"""
    )
    page.keyboard.press("b")
    page.evaluate("document.activeElement.remove()")
    page.evaluate("document.hasFocus = () => false")
    page.keyboard.press("b")
    page.evaluate("delete document.hasFocus")
    page.keyboard.press("p")
    expect(page.locator("#state")).to_have_text("Paused")
    assert not hall.facts.blank


def test_a_new_connection_does_not_repeat_an_earlier_stretch(
    hall: OperatorServer, visit: Visit
) -> None:
    """It would close what the operator is typing in, and drop the finals that wait for a look."""
    hall.set("church.hold_doubtful", True)
    desk = opened(visit)
    desk.locator("#off-record").evaluate("one => one.click()")  # a screen reader's press is meant
    expect(desk.locator("#state")).to_have_text("Off the record")
    desk.locator("#off-record").click()
    expect(desk.locator("#state")).to_have_text("Listening")
    hall.hear(9, "He is our peace.", "Él es la guerra.", draft="Él es paz.", is_doubtful=True)
    late = opened(visit)
    expect(late.locator("#doubt")).to_be_visible()
    desk.locator("#type").click()
    reconnect(desk)
    expect(desk.locator("#doubt")).to_be_visible()
    expect(desk.locator("#type-dialog")).to_be_visible()
