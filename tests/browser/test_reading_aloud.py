"""The audience page reads captions aloud with the device's own voice.

Headless Chromium has no voices, so a stub replaces the browser's side only: it records the texts
that it gets, and reports the end of each when the test lets it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipeline.core.types import Verse
from pipeline.protocol.caption import TargetText
from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

VOICE = """
  window.said = []; window.cancelled = 0; window.voices = [{lang: "es-MX", localService: true}];
  window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
  Object.defineProperty(window, "speechSynthesis", {value: {
    getVoices: () => window.voices,
    speak: (utterance) => window.said.push(utterance),
    cancel: () => { window.cancelled += 1; },
  }});
  window.ended = () => window.said.at(-1).onend();
"""


def said(page: Page) -> list[str]:
    return list(page.evaluate("said.map(({text}) => text)"))


def listening(visit: Visit, **options: Any) -> Page:
    """Open a page that reads aloud and has said its greeting."""
    page = visit(script=VOICE, **options)
    page.locator("#aloud").click()
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "true")
    page.evaluate("ended()")
    return page


def says(page: Page, *texts: str) -> None:
    """Wait until the voice has got exactly these texts since the greeting."""
    until(page, f"said.length > {len(texts)}")
    assert said(page)[1:] == list(texts)


def test_settled_clauses_are_said_once_and_nothing_that_may_change(
    hall: DisplayServer, visit: Visit
) -> None:
    hall.say(1, "Buenos días.", final=True)
    page = listening(visit)
    assert said(page) == ["Español"], "what was there before is not read"
    hall.say(2, "El Señor es", stable=11)
    hall.say(2, "El Señor es mi pastor, nada me", stable=25)
    says(page, "El Señor es mi pastor,")
    assert page.evaluate("said[1].lang") == "es"
    assert page.evaluate("said[1].voice === voices[0]")
    page.evaluate("ended()")
    hall.say(2, "El Señor es mi pastor; nada me faltará.", final=True)
    says(page, "El Señor es mi pastor,", "nada me faltará.")
    page.evaluate("ended()")
    hall.edit(2, "El Señor es mi buen pastor; nada me va a faltar.")  # it was said already
    hall.correct(
        2, "The Lord is my good shepherd.", "El Señor es el mejor pastor que hay, y no falta."
    )
    hall.say(3, "Amén.", final=True)
    says(page, "El Señor es mi pastor,", "nada me faltará.", "Amén.")


def test_what_is_hidden_or_mended_before_its_turn_is_not_said_as_it_was(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    hall.say(1, "El Señor es mi pastor.", final=True)
    until(page, "said.length === 2")
    hall.say(2, "Juan come carne.", final=True)
    hall.say(3, "Esto no debe oírse.", final=True)
    hall.edit(2, "Juan come pan.")
    hall.hide(3)
    expect(page.locator(".caption .text").last).to_have_text("Juan come pan.")
    page.evaluate("ended()")
    says(page, "El Señor es mi pastor.", "Juan come pan.")
    hall.hide(2)  # while it is being said
    until(page, "cancelled === 1")
    hall.say(4, "Oremos.", final=True)
    says(page, "El Señor es mi pastor.", "Juan come pan.", "Oremos.")


def test_what_was_heard_wrongly_said_before_or_long_ago_is_not_said(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    for key, start_s in ((8, 80.0), (2, 10.0)):  # the second fills a gap of a language
        hall.show(
            caption(key, "x", f"Frase {key}.", final=True, start_s=start_s, end_s=start_s + 5)
        )
    hall.show(caption(9, "x", "Juan come carne.", final=True, start_s=86, end_s=90))
    hall._publish(lambda: hall.board.correct(9, "John eats bread."))
    hall.show(caption(10, "x", "Oremos", start_s=92, end_s=93))
    expect(page.locator(".caption .text").last).to_have_text("Oremos")
    page.evaluate("ended()")
    says(page, "Frase 8.")
    hall._publish(lambda: hall.board.retranslate(9, TargetText("es", "Juan come pan.", "gemma")))
    says(page, "Frase 8.", "Juan come pan.")
    page.evaluate("ended()")
    hall.hide(9)
    hall._publish(lambda: hall.board.unhide(9))
    hall.show(caption(10, "x", "Oremos.", final=True, start_s=92, end_s=93))
    says(page, "Frase 8.", "Juan come pan.", "Oremos.")


def test_while_captions_are_off_nothing_is_said(hall: DisplayServer, visit: Visit) -> None:
    page = listening(visit)
    hall.say(1, "El Señor es mi pastor.", final=True)
    hall.say(2, "Nada me faltará.", final=True)
    until(page, "said.length === 2")
    hall.state("blank")
    until(page, "cancelled === 1")
    hall.say(3, "Nadie oye esto.", final=True)
    hall.state("speech")
    hall.say(4, "Oremos.", final=True)
    says(page, "El Señor es mi pastor.", "Oremos.")


def test_far_behind_it_goes_on_with_the_newest_and_a_little_faster(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    page.evaluate("window.now = performance.now(); performance.now = () => window.now")
    for number in range(1, 5):
        hall.say(number, f"Frase número {number}.", final=True)
    expect(page.locator(".caption")).to_have_count(4)
    until(page, "said.length === 2")
    page.evaluate("now += 1800; ended()")
    until(page, "said.length === 3")
    assert page.evaluate("said.map(({rate}) => rate)") == [1, 1, 1.2]
    page.evaluate("now += 5000; ended()")
    until(page, "said.length === 4")
    assert page.evaluate("said[3].rate") == 1.25
    says(page, "Frase número 1.", "Frase número 2.", "Frase número 4.")


def test_a_device_without_a_voice_for_the_language_says_so(
    hall: DisplayServer, visit: Visit
) -> None:
    hall.say(1, "Buenos días.", final=True)
    page = visit(script=VOICE + 'window.voices = [{lang: "ko-KR", localService: true}];')
    page.locator("#aloud").click()
    expect(page.locator("#hint")).to_contain_text("no voice for this language")
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "false")
    assert said(page) == []
    page.evaluate("voices.length = 0")  # Android may list none and still speak
    page.locator("#aloud").click()
    expect(page.locator("#hint")).to_contain_text("use headphones")
    page.locator("#aloud").click()
    expect(page.locator("#aloud")).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("cancelled") == 1


def test_a_printed_verse_is_read_without_its_place_and_a_doubt_without_its_sign(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    doubtful = caption(1, "A guess.", "Tal vez.", final=True)
    hall.show(replace(doubtful, is_doubtful=True))
    says(page, "Tal vez.")
    page.evaluate("ended()")
    quoted = caption(2, "The Lord is my shepherd.", "El Señor es mi guía.", final=True)
    printed = Verse("Salmos 23:1", "Jehová es mi pastor", "RV1909", "es")
    hall.show(replace(quoted, verse=printed))
    expect(page.locator(".caption").last).to_contain_text("(RV1909)")
    says(page, "Tal vez.", "Jehová es mi pastor")


def test_what_was_hidden_while_the_line_was_lost_is_not_said(
    hall: DisplayServer, visit: Visit
) -> None:
    page = listening(visit)
    hall.say(1, "El Señor es mi pastor.", final=True)
    hall.say(2, "Esto no debe oírse.", final=True)
    expect(page.locator(".caption")).to_have_count(2)
    hall.close()
    expect(page.locator("#status-text")).to_have_text("Reconnecting")
    hall.hide(2)
    hall.open()
    expect(page.locator(".caption")).to_have_count(1)
    assert page.evaluate("cancelled") == 0, "what is being said is said to its end"
    page.evaluate("ended()")
    hall.say(3, "Oremos.", final=True)
    says(page, "El Señor es mi pastor.", "Oremos.")
    hall.close()
    expect(page.locator("#status-text")).to_have_text("Reconnecting")
    hall.hide(3)  # while it is being said
    hall.open()
    until(page, "cancelled === 1")


def test_another_service_is_read_from_its_first_word(hall: DisplayServer, visit: Visit) -> None:
    page = listening(visit)
    for number in (1, 2):
        hall.say(number, f"Frase {number} de un ensayo.", final=True)
    says(page, "Frase 1 de un ensayo.")
    hall.adopt("two")
    expect(page.locator(".caption")).to_have_count(0)
    until(page, "cancelled === 1")
    hall.say(1, "El Señor es mi pastor.", final=True)  # its ids restart
    says(page, "Frase 1 de un ensayo.", "El Señor es mi pastor.")
