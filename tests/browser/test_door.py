"""The page asks once for the reader's language if the browser does not give it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser


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
    for page in (visit(locale="fr-CA"), visit("/?lang=es", locale="de-DE")):
        expect(page.locator("#aloud")).to_be_visible()
        expect(page.locator("#door")).to_be_hidden()


def test_a_link_to_a_language_of_another_day_says_that_it_is_not_here(visit: Visit) -> None:
    page = visit("/?lang=sw", locale="es-MX")
    expect(page.locator("#hint")).to_have_text("Hoy no hay subtítulos en Kiswahili.")
    expect(page.locator(".caption .text")).to_have_text("Buenos días.")


def test_a_link_to_no_language_at_all_is_the_plain_page(visit: Visit) -> None:
    page = visit("/?lang=a.b", locale="es-MX")
    expect(page.locator(".caption .text")).to_have_text("Buenos días.")


def test_the_poster_names_the_languages(visit: Visit) -> None:
    names = visit("/join").locator("#langs li")
    expect(names).to_have_text(["Español", "Français", "English"])
