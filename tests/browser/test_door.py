"""The page asks once for the reader's language if the browser does not give it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

ASKED = """performance.getEntriesByType("resource")
    .filter((entry) => entry.name.endsWith("/listen"))"""


@pytest.fixture
def hall() -> Iterator[DisplayServer]:
    with DisplayServer(extra_targets=["fr"]) as running:
        running.say(1, "Buenos días.", final=True)
        running.show_in("fr", caption(1, "Good morning.", "Bonjour.", final=True, lang="fr"))
        yield running


def test_a_reader_is_asked_once_and_the_choice_is_kept(visit: Visit) -> None:
    page = visit(locale="en-GB")
    buttons = page.locator("#door button")
    expect(buttons).to_have_text(["Español", "Français", "English"])
    assert buttons.nth(1).get_attribute("lang") == "fr"
    buttons.nth(1).click()
    expect(page.locator("#door")).to_be_hidden()
    expect(page.locator(".caption .text")).to_have_text("Bonjour.")
    page.reload()
    expect(page.locator(".caption .text")).to_have_text("Bonjour.")
    expect(page.locator("#aloud")).to_be_visible()  # so the question would be there by now
    expect(page.locator("#door")).to_be_hidden()


def test_who_closes_the_question_reads_on_and_is_not_asked_again(visit: Visit) -> None:
    page = visit(locale="de-DE")
    expect(page.locator("#door")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#door")).to_be_hidden()
    expect(page.locator(".caption .text")).to_have_text("Buenos días.")
    until(page, "localStorage.getItem('stark-translate')?.includes('es')")
    page.reload()
    expect(page.locator("#aloud")).to_be_visible()
    expect(page.locator("#door")).to_be_hidden()


def test_nobody_is_asked_whose_browser_or_link_says_it(visit: Visit) -> None:
    pages = {"Bonjour.": visit(locale="fr-CA"), "Buenos días.": visit("/?lang=es", locale="de-DE")}
    for text, page in pages.items():
        expect(page.locator(".caption .text")).to_have_text(text)
        expect(page.locator("#aloud")).to_be_visible()
        expect(page.locator("#door")).to_be_hidden()


def test_a_link_to_a_language_of_another_day_says_that_it_is_not_here(visit: Visit) -> None:
    page = visit("/?lang=sw", locale="fr-FR")
    expect(page.locator("#hint")).to_have_text("Pas de sous-titres en Kiswahili aujourd’hui.")
    expect(page.locator(".caption .text")).to_have_text("Bonjour.")
    assert "lang=" not in page.url
    page.goto(page.url.partition("?")[0] + "?lang=a.b")  # no language at all
    expect(page.locator(".caption .text")).to_have_text("Bonjour.")
    expect(page.locator("#hint")).to_be_hidden()


def test_a_language_that_is_missing_for_a_while_is_read_again_when_it_is_back(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/?lang=fr")
    french = hall.boards["fr"]
    for count, text in enumerate(["Bonjour.", "Buenos días.", "Bonjour."], 1):
        expect(page.locator(".caption .text")).to_have_text(text)
        until(page, f"{ASKED}.length === {count}")  # a hall that closes now aborts no fetch
        if count == 2:
            expect(page.locator("#hint")).to_have_text("No captions in Français today.")
            hall.boards["fr"] = french
        else:
            hall.boards.pop("fr")
        if count < 3:
            hall.close()
            hall.open()


def test_a_session_that_goes_on_with_more_languages_mixes_no_two(
    hall: DisplayServer, visit: Visit
) -> None:
    french = hall.boards.pop("fr")
    hall.close()
    hall.open()
    page = visit(locale="fr-FR")
    expect(page.locator(".caption .text")).to_have_text("Buenos días.")
    french.show(caption(2, "Let us pray.", "Prions.", final=True, lang="fr"))
    hall.boards["fr"] = french
    hall.close()
    hall.open()
    expect(page.locator(".caption .text")).to_have_text("Bonjour. Prions.")
