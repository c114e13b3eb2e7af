"""Write the pictures of the pages in docs/images/: `python -m scripts.docs.screenshots [NAME ...]`.

The real pages, served by the real hub, show the demo sermon's reference captions in Debian's
chromium.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page

from scripts.docs.console_shots import console_shots
from scripts.docs.film import MOST_BYTES as FILM_BYTES
from scripts.docs.film import TooBusyError, film
from scripts.docs.state_shots import shoot_states
from scripts.support.browser import chromium
from scripts.support.display_server import DisplayServer
from scripts.support.journal import message, session
from scripts.support.paths import ROOT
from scripts.support.records import health_record
from scripts.support.reviewing import TOKEN, Reviewing, reviewable

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 160_000

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 1.5,
    "locale": "es-MX",
}
HD: dict[str, Any] = {"viewport": {"width": 1280, "height": 720}, "locale": "es-MX"}
HEARD = 28  # sentences of the sermon said so far
GUESSED_WORDS = 6  # words of the next that are there ...
STABLE_WORDS = 4  # ... and of those, certain ones
DOUBTED = [
    ("Good morning.", "Buenos días.", "Buenos días."),
    (
        "We thank God for all of them.",
        "Damos gracias a Dios por todos.",
        "Gracias a Dios por ellos.",
    ),
    ("The Lord is your keeper.", "El Señor es tu carga.", "El Señor es tu guardián."),
    ("Give us your piece, O Lord.", "Danos tu trozo, oh Señor.", "Danos tu pieza, Señor."),
]
"""The first one is in no doubt."""
CALM_MS = 800  # until fades and glides have ended


def perform(hall: DisplayServer) -> None:
    """Say the first sentences of the sermon, and half of the next."""
    sermon = json.loads((ROOT / "demo" / "sermon.json").read_text("utf-8"))
    *said, saying = sermon["sentences"][: HEARD + 1]
    for number, sentence in enumerate(said, 1):
        hall.say(number, sentence["es"], sentence["en"], final=True)
    words = saying["es"].split()
    stable = len(" ".join(words[:STABLE_WORDS]))
    heard = " ".join(saying["en"].split()[:GUESSED_WORDS])
    hall.say(HEARD + 1, " ".join(words[:GUESSED_WORDS]), heard, stable=stable)
    hall.state("speech")


def with_source(page: Page) -> None:
    """Let the reader see the spoken language as well."""
    page.locator("#open").click()
    page.locator("#source").check()
    page.locator("#done").click()


def open_settings(page: Page) -> None:
    """Open the settings sheet."""
    page.locator("#open").click()


def scroll_back(page: Page) -> None:
    """Read what was said before, in high contrast."""
    page.locator("#open").click()
    page.locator("#theme-contrast").check()
    page.locator("#done").click()
    page.locator("#scroller").hover()
    page.mouse.wheel(0, -900)


def over_a_picture(page: Page) -> None:
    """Lay the overlay over something, as a mixer does."""
    picture = "linear-gradient(#35506b 68%, #7a5a3c 68%)"
    page.evaluate(f"document.documentElement.style.background = '{picture}'")


def leave(page: Page) -> None:
    """Show the page as it opens."""
    page.mouse.move(0, 0)


SHOTS: list[tuple[str, str, dict[str, Any], Callable[[Page], None]]] = [
    ("audience-light", "/", {**PHONE, "color_scheme": "light"}, leave),
    ("audience-dark", "/", {**PHONE, "color_scheme": "dark"}, with_source),
    ("audience-settings", "/", {**PHONE, "color_scheme": "light"}, open_settings),
    ("projector", "/projector", HD, leave),
    ("audience-history", "/", PHONE, scroll_back),
    ("projector-both", "/projector?show=both", HD, leave),
    ("projector-beside", "/projector?show=beside", HD, leave),
    ("projector-blocks", "/projector?mode=blocks", HD, leave),
    ("obs", "/obs?lines=2", HD, over_a_picture),
    ("obs-box", "/obs?show=both&lines=4&align=left&box=000000&outline=0", HD, over_a_picture),
    ("obs-help", "/obs?help", {**HD, "locale": "en-GB"}, leave),
]


def shoot(
    browser: Browser, url: str, options: dict[str, Any], act: Callable[[Page], None]
) -> bytes:
    """Open a page in a new profile, do something, take the picture."""
    context = browser.new_context(**options)
    try:
        page = context.new_page()
        page.goto(url)
        page.locator("#captions .caption").last.wait_for()
        act(page)
        page.wait_for_timeout(CALM_MS)
        return page.screenshot()
    finally:
        context.close()


def shoot_review(browser: Browser) -> bytes:
    """Take the picture of a review in which one caption is being corrected."""
    with (
        TemporaryDirectory() as directory,
        Reviewing(reviewable(Path(directory), spoken=DOUBTED)) as served,
    ):
        page = browser.new_page(**{**HD, "locale": "en-GB"})
        page.goto(f"{served.url}#token={TOKEN}")
        page.locator(".item").first.get_by_role("button", name="It is right").click()
        page.get_by_text("1 of 3 done").wait_for()
        page.locator(".item:not([hidden]) .target-text").first.fill("El Señor es tu guardador.")
        page.wait_for_timeout(CALM_MS)
        picture = page.screenshot()
        page.close()
        return picture


def shoot_services(browser: Browser, act: Callable[[Page], None]) -> bytes:
    """Take the picture of past services: the demo sermon, on three Sundays."""
    sentences = json.loads((ROOT / "demo" / "sermon.json").read_text("utf-8"))["sentences"]
    said = [
        message(
            number,
            sentence["en"],
            sentence["es"],
            start_s=sentence["start_s"],
            end_s=sentence["end_s"],
        )
        for number, sentence in enumerate(sentences, 1)
    ]
    records = [health_record(utc="2026-11-22T09:30:00.000-06:00")]
    with TemporaryDirectory() as directory:
        for sunday in ("08", "15", "22"):
            name = f"2026-11-{sunday}T09-30-00-0600"
            session(Path(directory), said, name, records=records)
        settings = {"past_services": "everyone"}
        with DisplayServer(sessions=Path(directory), server=settings) as hall:
            page = browser.new_page(**{**PHONE, "device_scale_factor": 1})
            page.goto(f"{hall.url}/services")
            page.locator("#services li").first.wait_for()
            act(page)
            page.wait_for_timeout(CALM_MS)
            picture = page.screenshot()
            page.close()
            return picture


def read_one(page: Page) -> None:
    """Read the newest service."""
    page.locator("#services a").first.click()
    page.locator("#text p").first.wait_for()


def main() -> int:
    """Take all pictures, or those that are named; 1 if one failed or is too large."""
    wanted = set(sys.argv[1:])
    IMAGES.mkdir(parents=True, exist_ok=True)
    failed = False
    with DisplayServer() as hall, chromium() as browser:
        perform(hall)
        shots: dict[str, Callable[[], bytes]] = {
            name: partial(shoot, browser, hall.url + path, options, act)
            for name, path, options, act in SHOTS
        }
        shots |= {"review": partial(shoot_review, browser), **console_shots(browser)}
        shots["services"] = partial(shoot_services, browser, leave)
        shots["services-read"] = partial(shoot_services, browser, read_one)
        shots["audience-states"] = partial(shoot_states, browser)
        shots["demo"] = partial(film, browser)
        if unknown := wanted - set(shots):
            print(f"No picture: {', '.join(sorted(unknown))}.", file=sys.stderr)
            return 2
        for name in wanted or shots:
            take = shots[name]
            try:
                picture = take()
            except TooBusyError as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed = True
                continue
            most, ending = (FILM_BYTES, "webp") if name == "demo" else (MOST_BYTES, "png")
            failed |= len(picture) > most
            (IMAGES / f"{name}.{ending}").write_bytes(picture)
            print(f"docs/images/{name}.{ending}  {len(picture) / 1000:.0f} kB of {most / 1000:.0f}")
            if len(picture) > most:
                print("That is too large for the repository.", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
