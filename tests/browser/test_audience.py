"""The audience page in a real browser, with the real hub."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from pipeline.core.types import State
from scripts.support.display_server import DisplayServer
from tests.browser.conftest import Visit, until

pytestmark = pytest.mark.browser

SPANISH = {"locale": "es-MX"}


def texts(page: Page) -> list[str]:
    return page.locator(".caption .text").all_text_contents()


def test_a_final_replaces_its_partial_in_place(hall: DisplayServer, visit: Visit) -> None:
    """Stable text does not flicker: its text node stays untouched while the rest grows."""
    page = visit()
    hall.say(1, "El Señor es", "The Lord is", stable=8)
    element = page.wait_for_selector(".caption.partial")
    page.evaluate("""() => {
        window.changes = [];
        new MutationObserver((records) => records.forEach((record) => window.changes.push(
            record.type === "characterData" ? record.target.parentElement.className : record.type)))
          .observe(document.querySelector("#captions"),
                   {childList: true, characterData: true, subtree: true});
    }""")
    hall.say(1, "El Señor es mi pas", "The Lord is", stable=8)
    expect(page.locator(".rest")).to_have_text(" es mi pas")
    assert page.evaluate("window.changes") == ["rest"]
    colours = page.evaluate(
        "['stable', 'rest'].map((c) => getComputedStyle(document.querySelector('.' + c)).color)"
    )
    assert colours[0] != colours[1]
    hall.say(1, "El Señor es mi pastor.", final=True)
    expect(page.locator(".caption .text")).to_have_text("El Señor es mi pastor.")
    expect(page.locator(".caption")).to_have_count(1)
    assert element is not None
    assert element.evaluate("e => e === document.querySelector('.caption')")
    assert element.evaluate("e => !e.classList.contains('partial')")


def test_a_word_alone_joins_the_next_caption(hall: DisplayServer, visit: Visit) -> None:
    """Each caption is still edited and hidden separately."""
    page = visit()
    hall.say(1, "Amén.", "Amen.", final=True)
    element = page.wait_for_selector(".caption")
    hall.say(2, "Vamos a", "Let us", stable=5)
    expect(page.locator(".caption .text")).to_have_text("Amén. Vamos a")
    assert element is not None
    assert element.evaluate("e => e === document.querySelector('.caption')")
    assert page.locator(".rest").all_text_contents() == ["", " a"]
    hall.say(2, "Vamos a orar hoy.", "Let us pray today.", final=True)
    expect(page.locator(".caption .text")).to_have_text("Amén. Vamos a orar hoy.")
    assert page.locator(".caption .source").text_content() == "Amen. Let us pray today."
    hall.edit(2, "Oremos juntos ahora.")
    expect(page.locator(".caption .text")).to_have_text("Amén. Oremos juntos ahora.")
    hall.say(3, "El Señor es mi pastor.", final=True)
    expect(page.locator(".caption")).to_have_count(2)
    hall.hide(1)
    expect(page.locator(".caption .text").first).to_have_text("Oremos juntos ahora.")
    expect(page.locator(".caption")).to_have_count(2)


def test_after_a_lost_connection_it_resumes_without_gap_or_repeat(
    hall: DisplayServer, visit: Visit
) -> None:
    for number in range(1, 4):
        hall.say(number, f"Esta es la frase {number}.", final=True)
    hall.say(4, "Cortada en", stable=3)
    page = visit()
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    expect(page.locator(".caption")).to_have_count(4)
    page.evaluate("window.kept = [...document.querySelectorAll('.caption')]")
    hall.close()
    expect(page.locator("#status-text")).to_have_text("Reconnecting")
    hall.say(4, "Cortada en medio.", final=True)
    hall.hide(2)
    for number in range(5, 55):
        hall.say(number, f"Esta es la frase {number}.", final=True)
    hall.open()
    expect(page.locator("#status-text")).to_have_text("Listening")
    expect(page.locator(".caption")).to_have_count(53)
    assert texts(page) == ["Esta es la frase 1.", "Esta es la frase 3.", "Cortada en medio."] + [
        f"Esta es la frase {number}." for number in range(5, 55)
    ]
    assert "session=one" in sockets[-1]
    assert "since=4" in sockets[-1]
    kept = page.evaluate("window.kept.map((element) => element.isConnected)")
    assert kept == [True, False, True, True]


def test_captions_are_acknowledged_after_they_are_painted(
    hall: DisplayServer, visit: Visit
) -> None:
    """A frame lies between the document change and the ack; each seq once, none from hello."""
    hall.say(1, "Antes.", final=True)
    script = """
    window.log = [];
    (function frame() { requestAnimationFrame(() => { window.log.push("frame"); frame(); }); })();
    addEventListener("DOMContentLoaded", () => new MutationObserver(() => window.log.push("change"))
      .observe(document.querySelector("#captions"),
               {childList: true, characterData: true, subtree: true}));
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) { window.log.push(data); send.call(this, data); };
    """
    page = visit(script=script)
    expect(page.locator(".caption")).to_have_count(1)
    page.evaluate("window.log.length = 0")
    hall.say(2, "Ahora", stable=0)
    until(page, "window.log.some((entry) => entry.startsWith('{'))")
    hall.say(2, "Ahora sí.", final=True)
    until(page, "window.log.filter((entry) => entry.startsWith('{')).length === 2")
    log = page.evaluate("window.log")
    acks = [json.loads(entry) for entry in log if entry.startswith("{")]
    assert acks == [{"type": "ack", "seq": 2}, {"type": "ack", "seq": 3}]
    first = log.index(json.dumps(acks[0], separators=(",", ":")))
    assert "frame" in log[log.index("change") : first]
    page.wait_for_timeout(100)
    assert hall.glass("audience") == 2


STATES: list[tuple[State, str, str, str]] = [
    ("starting", "Starting", "Iniciando", "wait"),
    ("listening", "Listening", "Escuchando", "good"),
    ("speech", "Listening", "Escuchando", "good"),
    ("paused", "Paused", "En pausa", "wait"),
    ("song", "Music", "Música", "wait"),
    ("blank", "Captions are off for a moment", "Subtítulos apagados por un momento", "wait"),
    ("behind", "A little behind", "Con un poco de retraso", "wait"),
    ("muted", "In a moment", "Un momento", "wait"),
    ("no-audio", "Microphone lost", "Sin micrófono", "bad"),
    ("fault", "Technical problem", "Problema técnico", "bad"),
    ("ended", "The service has ended", "El culto ha terminado", "off"),
]


def test_every_state_is_said_in_the_readers_language(hall: DisplayServer, visit: Visit) -> None:
    pages = [visit(), visit(**SPANISH)]
    for state, *words, tone in STATES:
        hall.state(state, "a reason for the operator only")
        for page, word in zip(pages, words, strict=True):
            expect(page.locator("#status-text")).to_have_text(word)
            expect(page.locator("#status")).to_have_attribute("data-tone", tone)
            assert "operator" not in page.locator("body").inner_text()
    hall.close()
    pages[0].wait_for_timeout(300)
    expect(pages[0].locator("#status-text")).to_have_text("The service has ended")


def test_blank_takes_the_captions_away_until_it_ends(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "Uno tras otro.", final=True)
    page = visit()
    expect(page.locator(".caption")).to_be_visible()
    hall.state("blank")
    expect(page.locator(".caption")).to_be_hidden()
    expect(page.locator("#notice")).to_have_text("Captions are off for a moment")
    hall.say(2, "Dos.", final=True)
    hall.state("listening")
    expect(page.locator(".caption").last).to_be_visible()
    assert texts(page) == ["Uno tras otro.", "Dos."]
    expect(page.locator("#notice")).to_be_hidden()


def fill(hall: DisplayServer, page: Page, count: int, first: int = 1) -> None:
    for number in range(first, first + count):
        hall.say(number, f"Frase número {number} del sermón, ni corta ni larga.", final=True)
    expect(page.locator(".caption").last).to_contain_text(f"número {first + count - 1} ")


def test_reading_back_is_not_disturbed(hall: DisplayServer, visit: Visit) -> None:
    page = visit()
    fill(hall, page, 40)
    scroller = page.locator("#scroller")
    at_end = """(() => { const e = document.querySelector("#scroller");
        return e.scrollHeight - e.scrollTop - e.clientHeight < 2; })()"""
    until(page, at_end)
    expect(page.locator("#live")).to_be_hidden()
    scroller.hover()
    page.mouse.wheel(0, -900)
    expect(page.locator("#live")).to_be_visible()
    # The first fully visible caption, and its position.
    place = """() => {
        const top = document.querySelector("#scroller").getBoundingClientRect().top;
        const seen = [...document.querySelectorAll(".caption")]
          .find((e) => e.getBoundingClientRect().top >= top);
        return [seen.dataset.id, Math.round(seen.getBoundingClientRect().top)];
    }"""
    page.wait_for_timeout(200)
    before = page.evaluate(place)
    fill(hall, page, 20, first=41)
    assert page.evaluate(place) == before
    hall.edit(3, "Mucho más larga que antes, sobre lo que se lee. " * 6)
    expect(page.locator("[data-id='3'] .text")).to_contain_text("Mucho más larga")
    hall.hide(5)
    expect(page.locator("[data-id='5']")).to_have_count(0)
    assert page.evaluate(place) == before
    page.locator("#live").click()
    expect(page.locator("#live")).to_be_hidden()
    fill(hall, page, 1, first=61)
    until(page, at_end)
    expect(page.locator("#live")).to_be_hidden()
    page.evaluate("scroller.scrollTop = 0")
    expect(page.locator("#live")).to_be_visible()
    hall.restart("two")
    expect(page.locator("#live")).to_be_hidden()
    until(page, at_end)


def test_what_the_reader_chose_is_remembered(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "El Señor es mi pastor.", "The Lord is my shepherd.", final=True)
    page = visit(fresh=True, color_scheme="dark")
    red = "Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
    until(page, f"{red} < 64")
    page.emulate_media(color_scheme="light")  # the page follows the phone
    until(page, f"{red} >= 64")
    text = page.locator(".caption .text")
    expect(text).to_be_visible()
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    paper = "getComputedStyle(document.body).backgroundColor"
    expect(page.locator(".caption .source")).to_be_hidden()
    before_px, light = text.evaluate(size), page.evaluate(paper)
    page.locator("#open").click()
    page.locator("#larger").click()
    page.locator("#theme-dark").check()
    page.locator("#source").check()
    page.locator("#page").select_option("es")
    page.reload()
    expect(page.locator(".caption .source")).to_have_text("The Lord is my shepherd.")
    expect(page.locator(".caption .source")).to_be_visible()
    assert text.evaluate(size) > before_px
    assert page.evaluate(paper) != light
    expect(page.locator("#status-text")).to_have_text("Escuchando")
    assert page.evaluate("document.documentElement.lang") == "es"
    page.locator("#open").click()
    page.locator("#theme-contrast").check()
    assert page.evaluate(paper) == "rgb(0, 0, 0)"


def test_the_spoken_language_can_be_read_instead(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "El Señor es mi pas", "The Lord is my shep", stable=3)
    page = visit()
    expect(page.locator(".caption .text")).to_have_text("El Señor es mi pas")
    page.locator("#open").click()
    assert page.locator("#lang option").all_text_contents() == ["Español", "English"]
    page.locator("#lang").select_option("en")
    expect(page.locator(".caption .stable")).to_have_text("The Lord is my shep")
    assert page.locator(".caption .source").text_content() == ""
    assert page.locator(".caption .text").get_attribute("lang") == "en"
    expect(page.locator("#source")).to_be_disabled()
    page.reload()
    expect(page.locator(".caption .text")).to_have_text("The Lord is my shep")


def test_of_a_caption_that_goes_on_only_what_is_new_is_read_out(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit()
    hall.say(1, "No preguntes.", final=True)
    announcer = page.locator("#announcer p")
    expect(announcer).to_have_count(1)
    hall.reopen(1)
    expect(page.locator(".caption.partial")).to_have_count(1)
    expect(page.locator(".caption .text")).to_have_text("No preguntes.")
    hall.say(1, "No preguntes lo que tu país")
    hall.say(1, "No preguntes lo que tu país puede hacer.", final=True)
    expect(announcer).to_have_count(2)
    assert announcer.all_text_contents() == ["No preguntes.", "lo que tu país puede hacer."]
    expect(page.locator(".caption")).to_have_count(1)


def test_only_new_finals_are_read_out(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "Ya dicho antes.", final=True)
    hall.say(2, "A me")
    page = visit()
    expect(page.locator(".caption")).to_have_count(2)
    hall.edit(1, "Dicho mucho antes.")
    expect(page.locator(".caption .text").first).to_have_text("Dicho mucho antes.")
    announcer = page.locator("#announcer")
    assert announcer.get_attribute("aria-live") == "polite"
    hall.say(2, "A medias", stable=1)
    expect(page.locator(".caption .text").last).to_have_text("A medias")
    assert announcer.text_content() == ""
    hall.say(2, "A medias no.", final=True)
    expect(announcer).to_have_text("A medias no.")
    hall.edit(2, "Ni a medias.")
    expect(page.locator(".caption .text").last).to_have_text("Ni a medias.")
    assert announcer.text_content() == "A medias no."
    for number in range(3, 9):
        hall.say(number, f"Esta es la frase {number}.", final=True)
    expect(announcer).to_have_text("".join(f"Esta es la frase {n}." for n in (6, 7, 8)))
    assert announcer.locator("p").first.get_attribute("lang") == "es"
    assert page.locator("main [aria-live]").count() == 0


def test_a_screen_reader_cannot_go_back_to_what_was_hidden(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit()
    for number in (1, 2):
        hall.say(number, f"Frase {number}.", final=True)
    expect(page.locator("#announcer p")).to_have_count(2)
    hall.hide(2)
    expect(page.locator(".caption")).to_have_count(1)
    assert page.locator("#announcer").text_content() == "Frase 1."
    hall.adopt("two")
    expect(page.locator(".caption")).to_have_count(0)
    assert page.locator("#announcer").text_content() == ""


def test_the_screen_is_kept_on(visit: Visit) -> None:
    count = """window.locks = [];
        WakeLock.prototype.request = (type) =>
            Promise.resolve({kind: window.locks.push(type)});"""
    page = visit(script=count)
    until(page, "window.locks.join() === 'screen'")
    assert page.locator("video").count() == 0
    page.locator("#open").click()
    expect(page.locator("#settings")).to_be_visible()
    expect(page.locator("#asleep")).to_be_hidden()  # there is nothing to explain


PLAIN_HTTP = "delete Navigator.prototype.wakeLock;"  # browsers withhold it from such a page


def test_without_https_a_video_keeps_the_screen_on(hall: DisplayServer, visit: Visit) -> None:
    """It is as large as the page, since browsers ignore small ones; it is invisible and silent."""
    hall.say(1, "El Señor es mi pastor.", final=True)
    page = visit(script=PLAIN_HTTP)
    until(page, "document.querySelector('video')?.currentTime > 0.2")
    video = page.locator("video")
    assert video.evaluate("v => [v.muted, v.loop, v.paused, v.duration > 20]") == [
        True,
        False,
        False,
        True,
    ]
    assert video.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert video.evaluate("v => getComputedStyle(v).opacity") == "0"
    page.locator(".caption .text").click()  # the video is not in the way
    video.evaluate("v => (v.currentTime = v.duration - 0.1)")
    until(page, "document.querySelector('video').currentTime < 5")
    until(page, "!document.querySelector('video').paused")
    page.locator("#open").click()
    expect(page.locator("#asleep")).to_be_visible()  # in case it does not work on this phone


def test_a_browser_of_2021_will_do(hall: DisplayServer, visit: Visit) -> None:
    """It has no modal dialogs, no wake lock and fewer array methods, and may forbid storage."""
    younger = ["at", "toSpliced", "toSorted", "toReversed", "with", "findLast", "findLastIndex"]
    script = "".join(f"delete Array.prototype.{name};" for name in younger)
    script += "delete Intl.DisplayNames; delete HTMLDialogElement.prototype.showModal;"
    script += "delete HTMLDialogElement.prototype.close; delete Object.hasOwn;"
    script += "delete String.prototype.at; delete String.prototype.replaceAll;"
    script += """Object.defineProperty(window, "localStorage",
        {get() { throw new DOMException("no", "SecurityError"); }});"""
    page = visit(script=script + PLAIN_HTTP)
    hall.say(1, "El Señor es mi pas", stable=8)
    hall.say(1, "El Señor es mi pastor.", final=True)
    expect(page.locator(".caption .text")).to_have_text("El Señor es mi pastor.")
    page.locator("#open").click()
    page.locator("#larger").click()
    assert page.evaluate("document.documentElement.dataset.size") == "4"
    assert page.locator("#lang option").all_text_contents() == ["Español", "English"]
    page.locator("#done").click()
    expect(page.locator("#settings")).to_be_hidden()


def test_another_version_of_the_protocol_is_said_and_not_tried_again(visit: Visit) -> None:
    page = visit(fresh=True)
    tries: list[str] = []

    def answer(socket: WebSocketRoute) -> None:
        tries.append(socket.url)
        socket.send(json.dumps({"type": "hello", "protocol": 2}))

    page.route_web_socket("**/ws**", answer)
    page.clock.install()
    page.reload()
    expect(page.locator("#status-text")).to_have_text("Please reload this page")
    page.clock.fast_forward(60_000)
    page.wait_for_timeout(200)
    assert len(tries) == 1


def test_pages_have_no_inline_code() -> None:
    for file in sorted(Path("displays").glob("*.html")):
        html = file.read_text("utf-8")
        assert "style=" not in html, file
        # Over plain http the certificate page must be self-contained.
        assert ("<style" in html) == (file.name == "certificate.html"), file
        assert not re.search(r"\son\w+\s*=", html), file
        assert "://" not in html, file
    for script in sorted(Path("displays/js").rglob("*.js")):
        assert "innerHTML" not in script.read_text("utf-8"), script
