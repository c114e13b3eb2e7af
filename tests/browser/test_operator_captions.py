"""The operator's list of captions and the dictionary, with the real hub and desk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pipeline.protocol.messages import ErrorMessage
from scripts.support.operator_server import OperatorServer
from tests.browser.conftest import Visit, place_of
from tests.support.console import TABLET, audience, keeper, opened, reconnect, row
from tests.support.verses import small_index

pytestmark = pytest.mark.browser

TOUCH = {**TABLET, "has_touch": True}
RAW = "He is the pro pitty asian for our sins, says zor bex."
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def hall(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OperatorServer]:
    """Serve the page; a test may name languages besides Spanish."""
    with OperatorServer(tmp_path, extra_targets=getattr(request, "param", ())) as running:
        yield running


def test_doubtful_words_and_corrections_tell_about_themselves(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit, **TOUCH)
    hall.hear(1, RAW, "Él es la propiciación.", unsure={"zor": 0.31, "bex.": 0.12})
    expect(row(page, 1).locator(".heard")).to_have_text(
        "He is the propitiation for our sins, says zor bex."
    )
    tip = page.get_by_role("tooltip")
    page.locator(".doubt").first.hover()
    expect(tip).to_have_text("The machine is 31 % sure that it heard this.")
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    page.locator(".fixed").tap()
    expect(tip).to_contain_text("Heard “pro pitty asian”; the rule “")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    page.keyboard.press("End")
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.locator(".doubt").first).to_be_focused()
    expect(tip).to_be_visible()
    style = page.locator(".doubt").first.evaluate("e => getComputedStyle(e).textDecorationStyle")
    assert style == "dotted"


def test_the_translators_stand_side_by_side(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    keeper(page)
    hall.hear(1, "peace be with you", "La paz sea con ustedes.", draft="paz con usted")
    versions = row(page, 1).locator(".version")
    expect(versions).to_have_count(2)
    expect(versions.nth(0)).to_contain_text("Marian first try 84 ms · ready after 784 ms")
    expect(versions.nth(0)).to_contain_text("paz con usted")
    expect(versions.nth(1)).to_contain_text("616 ms · ready after ")
    expect(versions.nth(1)).to_contain_text("on screen")
    tops = versions.evaluate_all("all => all.map((e) => e.querySelector('.text').offsetTop)")
    assert tops[0] == tops[1]
    hall.compare(1, "La paz sea con ustedes.", "Que haya paz.")
    expect(versions).to_have_count(3)
    expect(versions.nth(2)).to_contain_text("Marian (opus-mt-en-es) second try 41 ms · ")
    expect(versions.nth(2)).to_contain_text("% alike")
    expect(versions.nth(2)).to_contain_text("Que haya paz.")
    hall.filter(2, "thank you for watching", "stock-phrase")
    expect(row(page, 2)).to_contain_text("Not shown: words that nobody said")
    hall.hear(3, "Ruth 1:16 was never my verse.", "Rut 1:166 era mi verso.")
    expect(row(page, 3)).to_contain_text("Put right: “Rut 1:166” is now “Rut 1:16”")
    expect(row(page, 3)).to_contain_text("“never” may be lost in the translation")
    expect(row(page, 3).locator(".shown .text")).to_have_text("Rut 1:16 era mi verso.")


def test_an_edit_revises_every_screen(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    people, wall = audience(visit), visit("/projector", **TABLET)
    hall.hear(1, EVIL, "La palabra.", draft="palabra", unsure={EVIL.split(maxsplit=1)[0]: 0.1})
    expect(people.locator(".caption .text")).to_have_text("La palabra.")
    expect(row(page, 1).locator(".heard")).to_have_text(EVIL)
    page.locator("#edit").click()
    dialog = page.locator("#edit-dialog")
    expect(dialog.locator("#edit-heard")).to_have_value(EVIL)
    expect(page.locator("#edit-text")).to_have_value("La palabra.")
    dialog.get_by_role("button", name="Take the first try").click()
    expect(page.locator("#edit-text")).to_have_value("palabra")
    page.locator("#edit-text").fill(EVIL.replace(" ", "  "))
    dialog.get_by_role("button", name="Save").click()
    for screen in (people, wall):
        expect(screen.locator("#captions .caption .text")).to_have_text(EVIL)
    expect(row(page, 1).locator(".shown")).to_contain_text("Desk")
    expect(row(page, 1).locator(".shown .text")).to_have_text(EVIL)
    assert page.locator(".row img, .row script").count() == 0
    # The refusal of another command, later, is not about this text.
    refused = ErrorMessage(code="caption-changed", message="It has changed.")
    hall._loop.call(hall._running().operators.tell, refused)
    expect(page.locator("#notice")).to_contain_text("It has changed.")
    expect(dialog).to_be_hidden()
    page.locator("#undo").click()
    for screen in (people, wall):
        expect(screen.locator("#captions .caption .text")).to_have_text("La palabra.")


def test_what_was_heard_is_corrected_and_translated_again(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    people = audience(visit)
    hall.hear(1, "the pro pitty of zor", "La piedad de zor.", unsure={"zor": 0.2})
    page.locator(".doubt").first.click()
    page.keyboard.press("e")
    heard = page.locator("#edit-heard")
    expect(heard).to_be_focused()
    assert page.evaluate("getSelection().toString()") == "zor"
    page.keyboard.type("God")
    page.keyboard.press("Enter")
    expect(row(page, 1).locator(".heard")).to_have_text("the pro pitty of God")
    expect(row(page, 1).locator(".remark")).to_contain_text("heard was “the pro pitty of zor”")
    assert hall.hearing.asked[-1].transcript.text == "the pro pitty of God"
    hall.translated("La piedad del Dios.", "La piedad de Dios.")
    expect(people.locator(".caption .text")).to_have_text("La piedad de Dios.")
    expect(row(page, 1).locator(".shown")).to_contain_text("Gemma")
    page.keyboard.press("u")
    expect(people.locator(".caption .text")).to_have_text("La piedad de zor.")
    expect(row(page, 1).locator(".doubt")).to_have_text("zor")


def test_a_corrected_word_holds_for_the_service_at_one_key_and_says_what_else_it_changes(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    for number, text in enumerate(("we met zor there", "and zor said so"), 1):
        hall.hear(number, text, f"({text})")
    expect(row(page, 2)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    page.locator("#edit-heard").fill("and Zohar said so")
    page.keyboard.press("Enter")
    expect(page.locator("#hold-text")).to_have_text("“zor” is “Zohar” for the rest of the service?")
    expect(page.locator("#hold-also summary")).to_have_text("It also changes captions of today: 1")
    expect(page.locator("#hold-also li")).to_have_text("we met Zohar there")
    expect(row(page, 1).locator(".heard")).to_have_text("we met zor there")  # not yet
    page.keyboard.press("k")
    expect(page.locator("#hold")).to_be_hidden()
    expect(row(page, 1).locator(".heard")).to_have_text("we met Zohar there")
    hall.hear(3, "then zor went", "(then Zohar went)")
    expect(row(page, 3).locator(".heard")).to_have_text("then Zohar went")
    page.keyboard.press("u")
    expect(row(page, 1).locator(".heard")).to_have_text("we met zor there")
    # It is not offered for a word of every day, nor for quite another sentence.
    hall.hear(4, "my health comes from the Lord", "Mi salud viene del Señor.")
    expect(row(page, 4)).to_be_visible()
    for corrected in ("my help comes from the Lord", "quite another sentence was said here by him"):
        page.keyboard.press("End")
        expect(row(page, 4)).to_have_attribute("aria-current", "true")
        page.keyboard.press("e")
        page.locator("#edit-heard").fill(corrected)
        page.keyboard.press("Enter")
        expect(row(page, 4).locator(".heard")).to_have_text(corrected)
        page.wait_for_timeout(300)
        expect(page.locator("#hold")).to_be_hidden()


def test_a_key_counts_before_the_frame_in_which_a_dialog_goes(
    hall: OperatorServer, visit: Visit
) -> None:
    """Until then its field has the focus (seen on a busy computer), but nobody types there."""
    page = opened(visit)
    hall.hear(1, "and zor said so", "(and zor said so)")
    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    page.locator("#edit-heard").fill("and Zohar said so")
    page.evaluate("""() => {
      const field = document.activeElement;
      for (const key of ["Enter", "ArrowUp"]) {
        field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      }
    }""")
    expect(row(page, 1)).to_be_focused()


def test_a_rendering_holds_for_the_service_with_the_word_that_it_renders(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    hall.hear(1, "an old covenant", "Un viejo acuerdo.")
    hall.hear(2, "the new covenant is better", "El nuevo acuerdo es mejor.")
    expect(row(page, 2)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    page.locator("#edit-text").fill("El nuevo pacto es mejor.")
    page.keyboard.press("Enter")
    says = "“acuerdo” is “pacto” for the rest of the service?"
    expect(page.locator("#hold-text")).to_have_text(says)
    page.keyboard.press("k")
    expect(page.locator("#rule-title")).to_have_text("For the rest of the service")
    expect(page.locator("#rule-heard")).to_have_value("covenant")
    expect(page.locator("#rule-write")).to_have_value("pacto")
    expect(page.locator("#rule-also li")).to_have_text(["Un viejo pacto."])
    page.locator("#rule-heard").fill("mercy")
    expect(page.locator("#rule-none")).to_be_visible()
    page.locator("#rule-heard").fill("covenant")
    expect(page.locator("#rule-also li")).to_have_text(["Un viejo pacto."])
    page.keyboard.press("Enter")
    expect(row(page, 1).locator(".shown .text")).to_have_text("Un viejo pacto.")
    expect(page.locator("#notice")).to_have_text("“covenant” is “pacto” until the service ends.")
    page.keyboard.press("u")
    expect(row(page, 1).locator(".shown .text")).to_have_text("Un viejo acuerdo.")
    page.keyboard.press("d")
    expect(page.locator("#rule-title")).to_have_text("Add to the church’s dictionary")


def test_a_typed_caption_reaches_every_screen(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    people, wall = audience(visit), visit("/projector", **TABLET)
    hall.hear(1, "the word of the Lord", "La palabra del Señor.")
    page.keyboard.press("t")
    page.get_by_label("a caption, among those").check()
    page.locator("#type-text").fill("Children may go now.")
    page.keyboard.press("Enter")
    expect(row(page, 2).locator(".heard")).to_have_text("Children may go now.")
    expect(people.locator(".caption")).to_have_count(1)
    hall.translated("Los niños van.", "Los niños pueden ir ahora.")
    for screen in (people, wall):
        expect(screen.locator("#captions .caption .text").last).to_have_text(
            "Los niños pueden ir ahora."
        )
    page.keyboard.press("t")
    page.get_by_label("Spanish, shown as it is").check()
    page.locator("#type-text").fill("Bienvenidos.")
    page.locator("#type-dialog").get_by_role("button", name="Show").click()
    expect(people.locator("#captions .caption .text").last).to_contain_text("Bienvenidos.")
    page.keyboard.press("u")
    expect(people.locator("#captions")).not_to_contain_text("Bienvenidos.")


def test_a_notice_stays_on_every_screen_until_it_is_taken_away(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    screens = [audience(visit), visit("/projector", **TABLET), visit("/obs", **TABLET)]
    page.locator("#type").click()
    page.locator("#type-text").fill("The sermon starts at 10:40.")
    page.keyboard.press("Enter")
    for screen in screens:
        expect(screen.locator("#announcement")).to_have_text("The sermon starts at 10:40.")
    hall.translated("El sermón a las 10:40.", "El sermón empieza a las 10:40.")
    screens.append(visit("/projector?lang=es", **TABLET))
    for screen in screens:
        expect(screen.locator("#announcement")).to_have_text("El sermón empieza a las 10:40.")
        assert screen.locator("#announcement").get_attribute("lang") == "es"
    hall.hear(1, "the word", "La palabra.")
    page.keyboard.press("b")
    expect(screens[0].locator("#announcement")).to_be_hidden()
    expect(page.locator("#blank .word")).to_have_text("Show again")
    page.keyboard.press("b")
    expect(screens[0].locator("#announcement")).to_be_visible()
    below, above = (
        place_of(screens[1].locator(each)) for each in ("#captions .caption", "#announcement")
    )
    assert above["y"] + above["height"] <= below["y"] + 1, "captions make room for it"
    expect(page.locator("#standing-text")).to_have_text("El sermón empieza a las 10:40.")
    page.keyboard.press("n")
    for screen in screens:
        expect(screen.locator("#announcement")).to_be_hidden()
    page.keyboard.press("u")
    expect(screens[0].locator("#announcement")).to_be_visible()


def test_what_is_still_being_said_is_not_edited(hall: OperatorServer, visit: Visit) -> None:
    """An edit is final, so the end of the sentence would be missing."""
    page = opened(visit)
    hall.hear(1, "the first", "La primera.")
    hall.say(2, "La seg", "the sec", stable=2)
    expect(row(page, 2).locator(".rest")).to_have_text(" seg")
    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    row(page, 2).click()
    expect(page.locator("#edit")).to_be_disabled()
    expect(page.locator("#hide")).to_be_enabled()
    page.keyboard.press("End")
    expect(row(page, 1)).to_be_focused()
    hall.hear(2, "the second", "La segunda.")
    hall.filter(3, "thank you", "stock-phrase")
    expect(row(page, 3)).to_be_visible()
    expect(row(page, 2)).to_have_attribute("aria-current", "true")
    expect(page.locator("#edit")).to_be_enabled()


def test_no_button_acts_on_a_caption_out_of_sight(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    for number in range(1, 4):
        hall.hear(number, f"sentence {number}", f"Frase {number}.")
    row(page, 2).click()
    hall.hear(4, "sentence 4", "Frase 4.")
    expect(row(page, 4)).to_be_visible()
    expect(row(page, 2).locator("#tools")).to_be_visible()
    for number in range(5, 15):
        hall.hear(number, f"sentence {number}", f"Frase {number}.")
    expect(row(page, 14).locator("#tools")).to_be_visible()


@pytest.mark.parametrize("hall", [["fr"]], indirect=True)
def test_bring_back_shows_both_texts_in_every_language(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    people = {lang: visit(f"/?lang={lang}") for lang in ("es", "fr", "en")}
    hall.hear(1, "the first", "La primera.")
    hall.render("fr", 1, "the first", "La première.")
    texts = {"es": "La primera.", "fr": "La première.", "en": "the first"}
    for lang, text in texts.items():
        expect(people[lang].locator("#captions")).to_contain_text(text)
    page.locator("#hide").click()
    for lang in texts:
        expect(people[lang].locator(".caption")).to_have_count(0)
    expect(row(page, 1)).to_contain_text("Not on the screens")
    expect(page.locator("#hide .word")).to_have_text("Bring back")
    page.locator("#hide").click()
    for lang, text in texts.items():
        expect(people[lang].locator("#captions")).to_contain_text(text)
    shown = row(page, 1).locator(".shown")
    expect(shown).to_contain_text("Gemma")
    page.locator("#undo").click()
    for lang in texts:
        expect(people[lang].locator(".caption")).to_have_count(0)
    page.locator("#undo").click()
    expect(row(page, 1).locator(".badge")).to_have_text("on screen")


def test_an_open_dialog_follows_a_caption_whose_speaker_goes_on(
    hall: OperatorServer, visit: Visit
) -> None:
    """It follows only if nothing was typed; half a sentence cannot be saved."""
    page = opened(visit)
    hall.say(1, "El profeta.", "The prophet.", final=True)
    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    expect(page.locator("#edit-text")).to_have_value("El profeta.")
    save = page.locator("#edit-dialog .primary")
    hall.reopen(1)
    hall.say(1, "El profeta dice", "The prophet says")
    expect(page.locator("#edit-news-says")).to_contain_text("Its speaker goes on.")
    expect(page.locator("#edit-text")).to_have_value("El profeta dice")
    expect(save).to_be_disabled()
    page.keyboard.press("Enter")
    hall.say(1, "El profeta dice: consolad.", "The prophet says: comfort.", final=True)
    expect(page.locator("#edit-news-says")).to_have_text("It has changed meanwhile. Now it is:")
    expect(page.locator("#edit-heard")).to_have_value("The prophet says: comfort.")
    expect(page.locator("#edit-heard")).to_be_focused()
    expect(page.locator("#edit-news-take")).to_be_hidden()
    expect(save).to_have_text(re.compile("^Save "))
    page.locator("#edit-text").fill("El profeta dice: consolad a mi pueblo.")
    page.keyboard.press("Enter")
    expect(page.locator("#edit-dialog")).to_be_hidden()
    expect(row(page, 1).locator(".shown .text")).to_have_text(
        "El profeta dice: consolad a mi pueblo."
    )


def test_what_was_typed_stands_beside_what_its_speaker_has_said_since(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    hall.say(1, "El profeta.", "The prophet.", final=True)
    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    page.locator("#edit-text").fill("El Profeta.")
    hall.reopen(1)
    hall.say(1, "El profeta dice.", "The prophet says.", final=True)
    take, save = page.locator("#edit-news-take"), page.locator("#edit-dialog .primary")
    expect(take).to_contain_text("Take this El profeta dice.")
    expect(page.locator("#edit-text")).to_have_value("El Profeta.")
    expect(page.locator("#edit-heard")).to_have_value("The prophet says.")
    expect(save).to_contain_text("Save over it")
    page.keyboard.press("Enter")
    expect(save).to_be_focused()
    take.click()
    expect(page.locator("#edit-text")).to_have_value("El profeta dice.")
    expect(page.locator("#edit-text")).to_be_focused()
    expect(save).to_have_text(re.compile("^Save "))
    page.locator("#edit-text").fill("El Profeta dice.")
    hall.reopen(1)
    hall.say(1, "El profeta dice: consolad.", "The prophet says: comfort.", final=True)
    expect(take).to_contain_text("El profeta dice: consolad.")
    for _ in range(2):
        page.keyboard.press("Enter")
    expect(page.locator("#edit-dialog")).to_be_hidden()
    expect(row(page, 1).locator(".shown .text")).to_have_text("El Profeta dice.")


def test_a_caption_that_is_hidden_meanwhile_is_not_brought_back_unawares(
    hall: OperatorServer, visit: Visit
) -> None:
    page, other = opened(visit), opened(visit)
    hall.hear(1, "the first", "La primera.")
    for each in (page, other):
        expect(row(each, 1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    expect(page.locator("#edit-dialog")).to_be_visible()
    other.keyboard.press("h")
    expect(page.locator("#edit-news-says")).to_have_text("Not on the screens")
    save = page.locator("#edit-dialog .primary")
    page.keyboard.press("Enter")
    expect(save).to_be_focused()
    page.keyboard.press("Enter")
    expect(row(page, 1).locator(".shown .text")).to_have_text("La primera.")


def test_a_new_service_closes_what_was_typed_over_a_caption_of_the_one_before(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    hall.hear(1, "the first", "La primera.")
    expect(row(page, 1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("e")
    page.locator("#edit-text").fill("La de antes.")
    reconnect(page)
    expect(page.locator("#edit-text")).to_have_value("La de antes.")  # the same service
    hall.adopt("two")
    expect(page.locator("#edit-dialog")).to_be_hidden()


def test_a_save_that_comes_too_late_is_refused_and_loses_nothing_that_was_typed(
    hall: OperatorServer, visit: Visit
) -> None:
    """The caption changes while Save is on its way; the page gets the change after the refusal."""
    late = """
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (data) {
        const message = JSON.parse(data);
        if (message.name === "correct") message.revision -= 1;
        send.call(this, JSON.stringify(message));
      };"""
    page = opened(visit, script=late)
    hall.say(1, "La obra.", "The world.", final=True)
    hall.reopen(1)
    hall.say(1, "La obra de Dios.", "The world of God.", final=True)
    expect(row(page, 1).locator(".shown .text")).to_have_text("La obra de Dios.")
    page.keyboard.press("e")
    page.locator("#edit-heard").fill("The word of God.")
    page.locator("#edit-text").fill("La palabra de Dios.")
    page.keyboard.press("Enter")
    expect(page.locator("#edit-news-says")).to_have_text("It has changed meanwhile. Now it is:")
    expect(page.locator("#edit-news-take")).to_contain_text("The world of God. La obra de Dios.")
    expect(page.locator("#edit-heard")).to_have_value("The word of God.")
    expect(page.locator("#edit-text")).to_have_value("La palabra de Dios.")
    expect(page.locator("#notice")).to_be_empty()


@pytest.mark.slow
def test_the_list_is_bounded_and_stays_where_one_reads(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    for number in range(1, 211):
        hall.hear(number, f"sentence {number}", f"frase {number}")
    expect(row(page, 210)).to_be_visible()
    assert page.locator(".row").count() == 200
    expect(row(page, 210).locator("#edit")).to_be_enabled()
    box = place_of(page.locator("#scroller"))
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.wheel(0, -3000)
    expect(page.locator("#live")).to_be_visible()
    page.wait_for_timeout(300)
    seen = """() => { const top = scroller.getBoundingClientRect().top;
      const first = [...rows.children].find((e) => e.getBoundingClientRect().top >= top);
      return [first.dataset.id, Math.round(first.getBoundingClientRect().top)]; }"""
    before = page.evaluate(seen)
    for number in range(211, 231):
        hall.hear(number, f"sentence {number}", f"frase {number}")
    expect(row(page, 230)).to_have_count(1)
    first, top = page.evaluate(seen)
    assert first == before[0]
    assert abs(top - before[1]) < 10  # each change rounds positions to pixels
    page.locator("#live").click()
    expect(row(page, 230)).to_be_in_viewport()


def test_a_rule_is_made_of_a_selected_word(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    hall.hear(1, "Paul wrote to zor bex again.", "Pablo escribió.")
    expect(row(page, 1)).to_contain_text("ready after")  # redrawn text loses its selection
    page.evaluate("""() => {
      const text = document.querySelector(".row .heard").firstChild;
      const at = text.data.indexOf("zor");
      getSelection().setBaseAndExtent(text, at, text, at + "zor bex".length); }""")
    expect(page.locator("#add-rule .word")).to_have_text("Dictionary: “zor bex”")
    page.locator("#add-rule").click()
    expect(page.locator("#rule-heard")).to_have_value("zor bex")
    expect(page.locator("#rule-write")).to_be_focused()
    expect(page.locator("#rule-file")).to_be_hidden()  # only maintainers see a path
    expect(page.locator("#rule-dialog .primary")).to_be_disabled()
    page.locator("#rule-write").fill("Zorbex")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_have_text("From now on “zor bex” is written “Zorbex”.")
    assert '"Zorbex"' in hall.rules
    hall.hear(2, "Paul wrote to zor bex again.", "Pablo escribió a Zorbex.")
    expect(row(page, 2).locator(".fixed")).to_have_text("Zorbex")
    page.keyboard.press("d")  # the same rule again is refused in a quiet line
    page.locator("#rule-heard").fill("zor bex")
    page.locator("#rule-write").fill("Zorbex")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_have_attribute("data-tone", "bad")
    expect(page.locator("#notice")).to_contain_text("zor bex")
    expect(page.locator("#undo .word")).to_contain_text("rule “zor bex”")
    page.locator("#undo").click()
    expect(page.locator("#notice")).to_have_text("“zor bex” is left alone again.")
    assert "Zorbex" not in hall.rules


def test_a_rule_is_made_by_touch(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit, **TOUCH)
    hall.hear(1, "Paul wrote to zor bex again.", "Pablo.", unsure={"zor": 0.2})
    page.locator(".doubt").tap()
    page.locator("#add-rule").tap()
    expect(page.locator("#rule-heard")).to_have_value("zor")
    chips = page.locator("#rule-words")
    chips.get_by_text("bex").tap()
    expect(page.locator("#rule-heard")).to_have_value("zor bex")
    expect(chips.locator("[aria-pressed=true]")).to_have_text(["zor", "bex"])
    chips.get_by_text("wrote").tap()
    expect(page.locator("#rule-heard")).to_have_value("wrote to zor bex")
    chips.get_by_text("zor").tap()
    expect(page.locator("#rule-heard")).to_have_value("zor")
    page.locator("#rule-heard").fill("...")
    page.locator("#rule-write").fill("x")
    expect(page.locator("#rule-problem")).to_have_text("Write words.")
    page.get_by_role("button", name="Cancel").last.tap()
    expect(page.locator("#rule-dialog")).to_be_hidden()
    assert hall.rules == ""


@pytest.fixture
def _small_bible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    small_index(tmp_path / "cache")


@pytest.mark.usefixtures("_small_bible")
def test_a_suggested_verse_is_shown_with_one_key_or_dismissed_with_another(
    hall: OperatorServer, visit: Visit
) -> None:
    page = opened(visit)
    people = audience(visit)
    suggestion = page.locator("#verse")
    expect(suggestion).to_be_hidden()
    hall.hear(1, "The Lord is my shepherd I shall not want.", "El Señor es mi pastor.")
    expect(page.locator("#verse-ref")).to_have_text("Salmo 23:1?")
    expect(page.locator("#verse-text")).to_contain_text("JEHOVÁ es mi pastor")
    text = people.locator(".caption .text")
    expect(text).to_have_text("El Señor es mi pastor.")
    page.keyboard.press("v")
    expect(suggestion).to_be_hidden()
    printed = "JEHOVÁ es mi pastor; nada me faltará. — Salmo 23:1 (Reina-Valera 1909)"
    expect(text).to_have_text(printed)
    expect(row(page, 1)).to_contain_text("On the screens: Salmo 23:1")
    page.keyboard.press("u")
    expect(text).to_have_text("El Señor es mi pastor.")
    said = "For God so loved the world that he gave his only begotten Son."
    hall.hear(2, said, "Porque Dios amaba al mundo.")
    expect(page.locator("#verse-ref")).to_have_text("Juan 3:16?")
    page.keyboard.press("x")
    expect(suggestion).to_be_hidden()
    expect(text.last).to_have_text("Porque Dios amaba al mundo.")


def test_a_doubtful_final_waits_for_the_operator_and_is_then_marked(
    hall: OperatorServer, visit: Visit
) -> None:
    hall.set("church.hold_doubtful", True)
    page, people = opened(visit), audience(visit)
    bar, text = page.locator("#doubt"), people.locator(".caption .text")
    expect(bar).to_be_hidden()
    hall.hear(1, "He is our peace.", "Él es la guerra.", draft="Él es paz.", is_doubtful=True)
    expect(page.locator("#doubt-title")).to_have_text(
        re.compile(r"Not on the screens yet. Shown in \d+ s:")
    )
    expect(page.locator("#doubt-target")).to_have_text("Él es la guerra.")
    expect(text).to_have_text("Él es paz.")
    hear = page.locator("#hear")
    hear.click()
    expect(hear).to_have_text("Stop")  # three seconds of sound, from the server
    hear.click()
    expect(hear).to_have_text("Hear it")
    page.keyboard.press("r")
    expect(bar).to_be_hidden()
    expect(text).to_have_count(0)
    hall.hear(2, "Grace is free.", "La gracia es libre.", draft="Gracia", is_doubtful=True)
    hall.let_go()
    expect(text).to_have_text("La gracia es libre. (?)")
    expect(page.locator("#doubt-title")).to_have_text("On the screens, marked (?):")
    reconnect(page)
    expect(bar).to_be_visible()
    page.keyboard.press("a")
    expect(text).to_have_text("La gracia es libre.")
    expect(bar).to_be_hidden()
    expect(page.locator("#undo .word")).to_contain_text("approval of caption 2")
    page.keyboard.press("u")
    expect(text).to_have_text("La gracia es libre. (?)")
    expect(bar).to_be_visible()
    page.keyboard.press("c")
    expect(page.locator("#edit-dialog")).to_be_visible()
    page.locator("#edit-text").fill("La gracia es gratuita.")
    page.keyboard.press("Enter")
    expect(text).to_have_text("La gracia es gratuita.")
    expect(bar).to_be_hidden()


@pytest.mark.parametrize("hall", [["fr"]], indirect=True)
def test_the_captions_of_any_language_are_seen_edited_and_asked_about(
    hall: OperatorServer, visit: Visit
) -> None:
    hall.set("church.hold_doubtful", True)
    page = opened(visit)
    spanish, french = visit("/?lang=es"), visit("/?lang=fr")
    hall.hear(1, "the first", "La primera.", draft="Primera.")
    hall.render("fr", 1, "the first", "La premiere.")
    shown = row(page, 1).locator(".shown .text")
    expect(shown).to_have_text("La primera.")
    page.locator("#langs").get_by_text("Français").click()
    expect(shown).to_have_text("La premiere.")
    expect(shown).to_have_attribute("lang", "fr")
    expect(row(page, 1).locator(".heard")).to_have_text("the first")
    expect(page.locator("#edit")).to_be_enabled()
    page.locator("#edit").click()
    expect(page.locator("#edit-text")).to_have_value("La premiere.")
    page.locator("#edit-text").fill("La première.")
    page.keyboard.press("Enter")
    expect(french.locator(".caption .text")).to_have_text("La première.")
    expect(spanish.locator(".caption .text")).to_have_text("La primera.")
    expect(page.locator("#hold")).to_be_hidden()  # only the first language is held
    page.locator("#langs").get_by_text("Español").click()
    expect(shown).to_have_text("La primera.")
    expect(row(page, 1).locator(".version")).to_have_count(2)
    page.locator("#langs").get_by_text("Français").click()
    expect(shown).to_have_text("La première.")
    hall.close()
    del hall.boards["fr"]
    hall.open()
    expect(page.locator("#pause")).to_be_enabled()
    expect(page.locator("#desk")).to_be_visible()
    expect(shown).to_have_text("La primera.")


def test_a_text_that_could_not_be_sent_is_still_there(hall: OperatorServer, visit: Visit) -> None:
    page = opened(visit)
    hall.hear(1, "peace be with you", "La paz.")
    page.locator("#type").click()
    page.locator("#type-text").fill("Children may go now.")
    hall.close()
    expect(page.locator("#state")).to_have_text("Connection lost")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("Not done")
    hall.open()
    expect(page.locator("#type")).to_be_enabled()
    page.locator("#type").click()
    expect(page.locator("#type-text")).to_have_value("Children may go now.")
    page.keyboard.press("Escape")
    page.locator("#edit").click()
    page.locator("#edit-text").fill("La paz sea con ustedes.")
    hall.close()
    expect(page.locator("#state")).to_have_text("Connection lost")
    page.keyboard.press("Enter")
    expect(page.locator("#edit-dialog")).to_be_visible()
    hall.open()
    expect(page.locator("#pause")).to_be_enabled()
    page.locator("#edit-text").press("Enter")
    expect(page.locator("#edit-dialog")).to_be_hidden()
    expect(row(page, 1).locator(".shown .text")).to_have_text("La paz sea con ustedes.")
