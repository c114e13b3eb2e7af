"""The review page in a real browser, served by the real review of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from pipeline.audio.file import write_flac
from pipeline.review.store import REVIEWED
from pipeline.session.recordings import recording_path
from pipeline.session.training_pairs import QUEUE
from scripts.support.display_server import DisplayServer
from scripts.support.journal import TOKEN, Reviewing, reviewable
from tests.browser.conftest import LOST_SOCKET, WATCH_POLICY, barriers, place_of, until
from tests.support.reviews import lines, outcomes, pairs

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title = 'owned'</script>"
DESK: ViewportSize = {"width": 1280, "height": 900}


Open = Callable[..., Page]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return reviewable(tmp_path)


@pytest.fixture
def served(folder: Path) -> Iterator[Reviewing]:
    with Reviewing(folder) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, served: Reviewing) -> Iterator[Open]:
    """Open the review page in a new profile; `token` goes into the address's fragment."""
    contexts = []
    complaints: list[str] = []

    def visit(token: str = TOKEN, script: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": DESK, "locale": "en-GB", **options})
        contexts.append(context)
        context.set_default_timeout(60_000)
        context.add_init_script(WATCH_POLICY + script)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: (
                complaints.append(said.text)
                if said.type in ("error", "warning")
                and not LOST_SOCKET.search(said.text)
                and "Failed to load resource" not in said.text
                else None
            ),
        )
        page.goto(served.url + (f"#token={token}" if token else ""))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def items(page: Page) -> Any:
    return page.locator(".item:visible")


def test_every_doubtful_caption_is_there_with_its_reasons_and_the_sound_that_was_kept(
    visit: Open, folder: Path
) -> None:
    sound = recording_path(folder, 2)
    sound.parent.mkdir()
    write_flac(sound, np.zeros(16_000, np.float32))
    page = visit()
    expect(items(page)).to_have_count(3)
    first = items(page).first
    expect(first.locator(".time")).to_have_text("0:00:20")
    expect(first.locator(".reasons li")).to_have_text(["the two translations are not alike"])
    expect(first.locator(".source-text")).to_have_value("Sentence 2.")
    expect(first.locator(".target-text")).to_have_value("Frase 2.")
    expect(first.locator(".words mark")).to_have_text(["Sentence"])
    expect(first.locator(".words mark")).to_have_attribute("title", "31 % sure")
    expect(page.locator("#count")).to_have_text("0 of 3 done, 3 left")
    assert page.url.endswith("/review"), "the token is gone from the address"
    assert TOKEN not in page.content()
    expect(first.locator(".sound")).to_be_visible()
    expect(items(page).nth(1).locator(".sound")).to_be_hidden()
    page.locator("#keys").check()
    page.keyboard.press("p")
    until(page, "document.querySelector('.sound').duration === 1")


def test_approve_reject_and_correct_with_the_mouse(
    visit: Open, served: Reviewing, folder: Path
) -> None:
    page = visit()
    page.get_by_label("Your name").fill("Ana")
    items(page).nth(0).get_by_role("button", name="It is right").click()
    expect(items(page)).to_have_count(2)
    expect(page.locator("#said")).to_have_text("It is right. 2 left.")
    items(page).nth(0).get_by_role("button", name="Leave it out").click()
    expect(items(page)).to_have_count(1)
    last = items(page).first
    last.get_by_role("button", name="Take this: Oración 4.").click()
    expect(last.locator(".target-text")).to_have_value("Oración 4.")
    last.locator(".target-text").fill("La oración cuatro.")
    last.get_by_role("button", name="Save").click()
    expect(page.locator("#end")).to_have_text(
        "All are done. The program can learn from 3 captions of this service."
    )
    assert outcomes(served.review) == {2: "approved", 3: "rejected", 4: "corrected"}
    assert [key for key, *_ in pairs(folder)] == [1, 2, 4]
    assert pairs(folder)[-1] == (4, "La oración cuatro.", "operator")
    assert {line["reviewer"] for line in lines(folder / REVIEWED)} == {"Ana"}
    page.get_by_label("Show those that are done too").check()
    expect(page.locator(".outcome")).to_have_text(
        ["Right by Ana", "Left out by Ana", "Corrected by Ana"]
    )


def test_the_keyboard_alone_is_enough(visit: Open, served: Reviewing, folder: Path) -> None:
    page = visit("")
    page.get_by_label("Password of the desk").press_sequentially(TOKEN)
    page.keyboard.press("Enter")
    expect(items(page).first).to_be_focused()
    page.locator("#keys").focus()
    page.keyboard.press("Space")
    page.keyboard.press("j")
    expect(items(page).nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(items(page).first).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator("#count")).to_have_text("1 of 3 done, 2 left")
    expect(items(page).first.locator(".source-text")).to_have_value("Sentence 3.")
    expect(items(page).first).to_be_focused()
    page.keyboard.press("e")
    expect(items(page).first.locator(".target-text")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("Una frase: a, r y u no deciden nada aquí.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_have_text("Corrected. 1 left.")
    page.keyboard.press("r")
    expect(page.locator("#end")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("#said")).to_have_text("Taken back. 1 left.")
    page.keyboard.press("u")
    expect(page.locator("#said")).to_have_text("Taken back. 2 left.")
    assert outcomes(served.review) == {2: "approved", 3: "open", 4: "open"}
    assert [key for key, *_ in pairs(folder)] == [1, 2]


def test_letters_press_nothing_until_they_are_switched_on_and_both_texts_must_say_something(
    visit: Open, served: Reviewing
) -> None:
    page = visit()
    expect(items(page)).to_have_count(3)
    page.keyboard.press("a")
    page.keyboard.press("ArrowDown")
    expect(items(page).nth(1)).to_be_focused()
    assert set(outcomes(served.review).values()) == {"open"}
    page.get_by_label("Letters press the buttons").check()
    page.reload()
    expect(items(page)).to_have_count(3)
    expect(page.get_by_label("Letters press the buttons")).to_be_checked()
    first = items(page).first
    first.locator(".target-text").fill("   ")
    expect(first.locator(".approve")).to_be_disabled()
    first.locator(".target-text").press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("Both texts must say something")
    assert set(outcomes(served.review).values()) == {"open"}


def test_a_wrong_token_shows_nothing(visit: Open, served: Reviewing) -> None:
    page = visit("guess")
    expect(page.locator("#login-problem")).to_have_text("That is not the password.")
    expect(items(page)).to_have_count(0)
    page.get_by_label("Password of the desk").fill(TOKEN)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(items(page)).to_have_count(3)
    page.reload()  # the cookie is enough
    expect(items(page)).to_have_count(3)
    assert page.evaluate("document.cookie") == ""


def test_the_daemon_itself_has_no_review(browser: Browser, hall: DisplayServer) -> None:
    page = browser.new_page()
    page.goto(f"{hall.url}/review")
    expect(page.locator("#problem")).to_contain_text(
        "Start it on the machine: stark-translate review"
    )
    expect(page.locator("#login")).to_be_hidden()
    page.close()


def test_the_report_opens_beside_it(visit: Open) -> None:
    page = visit()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Report of the service").click()
    report = opened.value
    expect(report.locator("h1")).to_contain_text("22 November 2026")
    expect(report.locator("body")).to_contain_text("Sentence 1.")
    colour = report.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius")
    assert colour != "0px", "its own style is let through"


def test_killed_and_started_again_nothing_is_lost(
    visit: Open, served: Reviewing, folder: Path
) -> None:
    page = visit()
    items(page).nth(0).get_by_role("button", name="It is right").click()
    expect(items(page)).to_have_count(2)
    items(page).nth(0).locator(".target-text").fill("Media frase")
    served.stop()
    expect(page.locator("#problem")).to_contain_text("The connection is lost")
    items(page).nth(1).get_by_role("button", name="It is right").click()
    expect(items(page).nth(1).locator(".outcome")).to_have_text("Saving …")
    served.start()  # with a new pass: the page sends the token again by itself
    expect(page.locator("#count")).to_have_text("2 of 3 done, 1 left", timeout=20_000)
    expect(page.locator("#problem")).to_be_hidden()
    expect(items(page).nth(0).locator(".target-text")).to_have_value("Media frase")
    assert outcomes(served.review) == {2: "approved", 3: "open", 4: "approved"}
    assert [key for key, *_ in pairs(folder)] == [1, 2, 4]


def test_a_page_that_stayed_open_since_last_week_shows_this_weeks_service(
    visit: Open, served: Reviewing, folder: Path, tmp_path: Path
) -> None:
    page = visit()
    expect(items(page)).to_have_count(3)
    served.stop()
    items(page).nth(0).get_by_role("button", name="It is right").click()  # not sent any more
    served.folder = reviewable(tmp_path / "next", 1, [("Amen.", "Amén.", "Así sea.")] * 2)
    served.folder = served.folder.rename(folder.parent / "2026-11-29T09-30-00")
    served.start()
    expect(page.locator("#session")).to_contain_text("29 November 2026", timeout=20_000)
    expect(items(page)).to_have_count(1)
    expect(items(page).locator(".source-text")).to_have_value("Amen.")
    assert outcomes(served.review) == {2: "open"}


def test_text_is_text_in_any_direction(tmp_path: Path, browser: Browser) -> None:
    folder = reviewable(tmp_path, 2)
    queue = lines(folder / QUEUE)
    queue[0] |= {"source": HOSTILE, "target": "نعمة الله", "target_lang": "ar"}
    (folder / QUEUE).write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in queue))
    with Reviewing(folder) as served:
        page = browser.new_page(viewport=DESK)
        page.add_init_script(WATCH_POLICY)
        page.goto(f"{served.url}#token={TOKEN}")
        expect(items(page).first.locator(".source-text")).to_have_value(HOSTILE)
        target = items(page).first.locator(".target-text")
        assert target.evaluate("(field) => getComputedStyle(field).direction") == "rtl"
        expect(items(page).first.locator(".name").nth(1)).to_contain_text("Arabic")
        assert page.title() == "Captions in doubt"
        page.close()


def test_it_fits_and_axe_finds_nothing_serious(visit: Open) -> None:
    page = visit()
    expect(items(page)).to_have_count(3)
    for width in (320, 768, 1920):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        until(page, "document.activeElement.classList.contains('item')")
        box = place_of(items(page).first)
        top = place_of(page.locator(".top"))
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        sticks = page.locator(".top").evaluate("(top) => getComputedStyle(top).position")
        assert sticks == ("static" if width == 320 else "sticky")
        assert width == 320 or top["height"] < 140
    page.set_viewport_size(DESK)
    items(page).nth(1).get_by_role("button", name="Leave it out").click()
    page.get_by_label("Show those that are done too").check()
    expect(items(page)).to_have_count(3)
    assert barriers(page) == []  # not let in: test_every_page.py
