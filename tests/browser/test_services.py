"""Past services in a browser: the list, one service, its files, and access rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from pipeline.protocol.codec import encode
from scripts.support.display_server import DisplayServer
from scripts.support.journal import message, session, utc
from scripts.support.records import health_record
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

DAY, LATER = "2026-11-15T09-30-00-0600", "2026-11-22T23-30-00-0600"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    said = [
        message(1, "Grace & <b>peace</b>.", "Gracia y paz.", start_s=1.0, end_s=3.0),
        message(2, "Amen.", "Amén.", start_s=100.0, end_s=101.0),
    ]
    for name in (DAY, LATER):
        session(tmp_path, said, name, records=[health_record(utc=utc(0))])
    return tmp_path


@pytest.fixture
def hall(kept: Path) -> Iterator[DisplayServer]:
    """Serve past services to operators."""
    with DisplayServer(sessions=kept) as running:
        yield running


def test_a_service_is_found_read_in_both_languages_and_downloaded(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit("/services#token=secret", locale="en-GB", timezone_id="Asia/Tokyo")
    # In the church's time zone, wherever the reader is.
    days = ["Sunday 22 November 2026 at 23:30", "Sunday 15 November 2026 at 09:30"]
    shown = page.locator("#services .day").all_text_contents
    expect(page.locator("#services li")).to_have_count(2)
    assert [text.replace(",", "") for text in shown()] == days
    assert "token" not in page.url
    page.locator("#services a").nth(1).click()
    expect(page.locator("#text p")).to_have_text(
        ["Grace & <b>peace</b>.", "Gracia y paz.", "Amen.", "Amén."]
    )
    assert page.locator("#text p").evaluate_all("all => all.map((e) => e.lang)") == [
        *("en", "es"),
        *("en", "es"),
    ]
    page.get_by_role("button", name="Español").click()
    expect(page.locator("#text p")).to_have_text(["Gracia y paz.", "Amén."])
    for form, name in (
        ("srt", "Subtitles (SRT)"),
        ("vtt", "Subtitles (VTT)"),
        ("md", "Text with headings (Markdown)"),
        ("html", "Web page"),
        ("docx", "Word"),
    ):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name, exact=True).click()
        file = waiting.value
        assert file.suggested_filename == f"{DAY}.es.{form}"
        file.save_as(tmp_path / form)
        assert form == "docx" or "Gracia y paz." in (tmp_path / form).read_text("utf-8")
    page.go_back()
    expect(page.locator("#services li")).to_have_count(2)
    expect(page.locator("#service")).to_be_hidden()


def test_a_reader_of_another_language_finds_it_open_and_turns_to_the_others(
    kept: Path, visit: Visit
) -> None:
    french = message(1, "Grace & <b>peace</b>.", "Grâce et paix.", lang="fr")
    (kept / DAY / "captions.fr.jsonl").write_bytes(encode(french) + b"\n")
    page = visit("/services#token=secret", locale="fr-CA")
    expect(page.locator("#services .about").nth(1)).to_contain_text("Español, Français")
    page.locator("#services a").nth(1).click()
    expect(page.locator("#text p")).to_have_text(["Grace & <b>peace</b>.", "Grâce et paix."])
    page.get_by_role("button", name="Español").click()
    expect(page.locator("#text p")).to_have_text(["Gracia y paz.", "Amén."])
    page.get_by_role("button", name="Français").click()
    expect(page.locator("#text p")).to_have_text(["Grâce et paix."])


def test_an_answer_that_comes_late_does_not_replace_what_was_opened_since(visit: Visit) -> None:
    page = visit("/services#token=secret", fresh=True)
    expect(page.locator("#services li")).to_have_count(2)
    held: list[Route] = []
    page.route("**/past/2026*", lambda route: held.append(route))  # noqa: PLW0108 - no builtin
    page.locator("#services a").first.click()
    while not held:
        page.wait_for_timeout(20)
    with page.expect_response("**/past"):
        page.go_back()
    with page.expect_response("**/past/2026*"):
        held[0].continue_()
    page.wait_for_timeout(200)
    expect(page.locator("#services")).to_be_visible()
    expect(page.locator("#service")).to_be_hidden()


def test_the_page_asks_for_a_token_and_forgets_a_wrong_one(visit: Visit) -> None:
    page = visit("/services", answers=frozenset({401, 403}))
    expect(page.get_by_role("heading", name="Past services")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.get_by_role("link", name="Open the desk")).to_be_visible()
    page.get_by_text("With the password instead").click()
    page.locator("#token").fill("guess")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#login-problem")).to_have_text("The token is wrong.")
    page.locator("#token").fill("secret")
    page.keyboard.press("Enter")
    expect(page.locator("#services li")).to_have_count(2)
    page.reload()
    expect(page.locator("#services li")).to_have_count(2)


def test_everyone_reads_in_their_own_language_where_a_setting_says_so(
    visit: Visit, hall: DisplayServer
) -> None:
    hall.close()
    hall.server["past_services"] = "everyone"
    hall.open()
    phone = visit("/?lang=es", locale="es-MX")
    phone.locator("#open").click()
    phone.locator("#settings").get_by_role("link", name="Cultos anteriores").click()
    expect(phone.get_by_role("heading", name="Cultos anteriores")).to_be_visible()
    page = visit("/services", locale="es-MX")
    expect(page.get_by_role("heading", name="Cultos anteriores")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "es")
    page.locator("#services a").first.click()
    expect(page.locator("#text p")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_damaged_lines_are_named_and_what_cannot_be_read_says_why(kept: Path, visit: Visit) -> None:
    journal = kept / DAY / "captions.jsonl"
    journal.write_bytes(b"{\n" + journal.read_bytes())
    page = visit("/services#token=secret", answers=frozenset({500}))
    page.locator("#services a").nth(1).click()
    expect(page.locator("#problem")).to_have_text("Left out: captions.jsonl: 1")
    expect(page.locator("#text p")).to_have_count(4)
    page.go_back()
    # The list is reloaded before it shows; it would omit a journal damaged earlier.
    expect(page.locator("#services")).to_be_visible()
    journal.write_bytes(b"{\n{\n")
    page.locator("#services a").nth(1).click()
    expect(page.locator("#problem")).to_contain_text("line 1")
    expect(page.locator("#services li")).to_have_count(2)
