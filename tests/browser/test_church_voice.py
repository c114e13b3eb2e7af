"""The audience page plays the church's voice: real MP3, over the real port, in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.voice.playout import RATE_HZ, Encoder
from pipeline.voice.voice import STEP_S
from scripts.reliability.listener import KEEP
from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

PLAYS = "!sound.paused && sound.currentTime > 0.5"


@pytest.fixture
def hall() -> Iterator[DisplayServer]:
    """Serve Spanish and French; only Spanish has audio, an endless tone."""
    voices, ended = VoiceStreams(("es",), 5), threading.Event()

    def sing() -> None:
        encoder = Encoder()
        at = np.arange(int(STEP_S * RATE_HZ)) / RATE_HZ
        while not ended.wait(STEP_S):
            voices.spread("es", encoder.encode(0.2 * np.sin(at * 2760).astype(np.float32)))

    singer = threading.Thread(target=sing)
    with DisplayServer(extra_targets=("fr",), voices=voices) as made:
        singer.start()
        yield made
        ended.set()
        singer.join()


def listening(visit: Visit, script: str = "") -> Page:
    """Open a page that plays the voice."""
    page = visit("/?lang=es", script=KEEP + script)
    button = page.locator("#aloud")
    expect(button).to_have_attribute("aria-label", "Listen: the church’s voice")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#hint")).to_contain_text("headphones")
    until(page, PLAYS)
    return page


def test_it_plays_until_the_button_is_pressed_again(hall: DisplayServer, visit: Visit) -> None:
    page = listening(visit)
    assert hall._voices is not None
    assert hall._voices.watchers() == {"es": 1}
    assert page.evaluate("navigator.mediaSession.metadata.title").endswith("Español")
    page.locator("#aloud").click()
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "false")
    until(page, "sound.paused")
    while hall._voices.heard():  # the connection closes, and nothing more is fetched
        page.wait_for_timeout(50)


def test_it_goes_on_after_a_break_and_stops_with_the_language(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    before = page.evaluate("sound.src")
    hall.close()
    hall.open()
    until(page, f"sound.src !== '{before}' && {PLAYS}")
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "true")
    page.locator("#open").click()
    page.locator("#lang").select_option("fr")
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#aloud")).to_have_attribute("aria-label", "Read captions aloud")


def test_a_player_that_takes_no_parts_gets_the_address(hall: DisplayServer, visit: Visit) -> None:
    page = listening(visit, "delete window.MediaSource;")
    assert "/listen/es" in page.evaluate("sound.src")


def test_what_has_piled_up_is_passed_over_and_when_the_voice_is_gone_the_phones_own_is_offered(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    before = page.evaluate("sound.src")
    assert before.startswith("blob:")
    page.evaluate("sound.playbackRate = 0.1")  # as if the phone were too busy
    until(page, "sound.buffered.end(0) - sound.currentTime > 3.5")
    until(page, "sound.buffered.end(0) - sound.currentTime < 1.5")
    assert page.evaluate("sound.src") == before
    assert hall._voices is not None
    hall._voices.close()
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "false", timeout=15_000)
    expect(page.locator("#aloud")).to_have_attribute("aria-label", "Read captions aloud")


@pytest.mark.parametrize("waiting", [0, 2])
def test_who_has_paused_it_hears_nothing_after_a_break(
    hall: DisplayServer, visit: Visit, waiting: int
) -> None:
    page = listening(visit)
    asked: list[Route] = []
    # playwright marks the function, which a method of a list does not allow.
    page.route("**/listen", lambda route: asked.append(route))  # noqa: PLW0108
    hall.close()
    hall.open()
    while len(asked) < waiting:  # for the offer, and after two seconds before the voice is resumed
        page.wait_for_timeout(50)
    page.evaluate("sound.pause()")  # as on a locked screen, or when headphones are removed
    while len(asked) < 2:
        page.wait_for_timeout(50)
    for route in asked:
        route.continue_()
    page.wait_for_timeout(500)
    assert page.evaluate("sound.paused")


def test_where_its_player_does_not_come_the_phones_own_voice_is_offered(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/?lang=es", fresh=True, answers=frozenset({503}))
    page.route("**/listener.js", lambda route: route.fulfill(status=503))
    page.reload()
    expect(page.locator("#aloud")).to_be_visible()
    expect(page.locator("#aloud")).to_have_attribute("aria-label", "Read captions aloud")
