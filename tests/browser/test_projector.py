"""The projector page in a real browser, with the real hub."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Church
from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import Visit, place_of, until
from tests.support.patience import wait_for

pytestmark = pytest.mark.browser

HD = {"viewport": {"width": 1280, "height": 720}}
SHOWN = "#captions .caption .text"
STATUS = "#status"  # hidden once the page is connected and all is well
LONG = "Porque de tal manera amó Dios al mundo, que ha dado a su Hijo unigénito. " * 5
CUT_OFF = """() => {
  const stage = document.querySelector("#stage").getBoundingClientRect();
  const rolls = document.documentElement.classList.contains("rolls");
  const out = [...document.querySelectorAll("#captions p")].filter((e) => {
    const b = e.getBoundingClientRect();
    if (b.width === 0) return false;
    const line = parseFloat(getComputedStyle(e).lineHeight);
    const above = (stage.top - b.top) / line;
    const cut = above > 0.02 && !(rolls && Math.abs(above - Math.round(above)) < 0.02);
    return cut || b.left < 0 || b.right > innerWidth || b.bottom > innerHeight;
  }).map((e) => e.textContent.slice(0, 40));
  const d = document.documentElement;
  if (d.scrollWidth > innerWidth || d.scrollHeight > innerHeight) out.push("scrolls");
  if (innerWidth !== d.clientWidth) out.push("has a scrollbar");
  return out;
}"""
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until the text is folded for a new window size."""
RECORD = """
window.arrived = [];
addEventListener("DOMContentLoaded", () => new MutationObserver((records) => {
  const note = (node, what) =>
    window.arrived.push([Number(node.dataset.id), what, performance.now()]);
  for (const record of records) {
    for (const node of record.addedNodes) note(node, "in");
    for (const node of record.removedNodes) note(node, "out");
  }
}).observe(document.querySelector("#captions"), {childList: true}));
"""


def shown(page: Page) -> list[str]:
    return page.locator(SHOWN).all_text_contents()


def cut_off(page: Page) -> list[str]:
    """Return texts outside the window, lines cut in two, and elements with a scrollbar.

    In rolling mode, whole lines may have left at the top.
    """
    found: list[str] = page.evaluate(CUT_OFF)
    return found


def test_of_a_sentence_that_is_being_spoken_only_what_stands_is_shown(
    hall: DisplayServer, visit: Visit
) -> None:
    log = """window.said = [];
    addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
      const text = document.querySelector("#captions .text")?.textContent ?? "";
      if (text !== window.said[window.said.length - 1]) window.said.push(text);
    }).observe(document.querySelector("#captions"),
               {childList: true, subtree: true, characterData: true}));"""
    page = visit("/projector", log, **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    hall.say(1, "Amén.", final=True)
    hall.say(2, "El Señora", "The Lord", stable=0)
    page.wait_for_timeout(200)
    assert shown(page) == ["Amén."]
    hall.say(2, "El Señor es mi pas", "The Lord is my shep", stable=11)
    expect(page.locator("#captions [data-id='1'] .text")).to_have_text("Amén. El Señor es")
    hall.say(
        2, "El Señor es mi pastor 😀 y", "The Lord is my shepherd", stable=len("El Señor es mi ")
    )
    expect(page.locator("#captions [data-id='1'] .text")).to_have_text("Amén. El Señor es mi")
    hall.say(2, "El Señor es mi pastor.", "The Lord is my shepherd.", final=True)
    expect(page.locator("#captions [data-id='1'] .text")).to_have_text(
        "Amén. El Señor es mi pastor."
    )
    texts: list[str] = page.evaluate("window.said")
    for before, after in pairwise(texts):
        assert after.startswith(before.strip()), "no word was ever taken back"


def test_who_reads_the_spoken_language_gets_it_at_once(hall: DisplayServer, visit: Visit) -> None:
    """`stable` concerns the translation only."""
    page = visit("/projector?lang=en", **HD)
    hall.say(1, "El Señor", "The Lord is my", stable=0)
    expect(page.locator(SHOWN)).to_have_text(["The Lord is my"])


def test_a_final_replaces_its_partial_in_place(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/projector?tail=1", **HD)
    hall.say(1, "El Señor es", stable=8)
    element = page.wait_for_selector("#captions .caption")
    assert element is not None
    assert element.query_selector(".rest").text_content() == " es"  # type: ignore[union-attr]
    hall.say(1, "El Señor es mi pastor.", final=True)
    expect(page.locator(SHOWN)).to_have_text("El Señor es mi pastor.")
    assert element.evaluate("e => e === document.querySelector('#captions .caption')")
    hall.edit(1, "Jehová es mi pastor.")
    expect(page.locator(SHOWN)).to_have_text("Jehová es mi pastor.")
    hall.hide(1)
    expect(page.locator(SHOWN)).to_have_count(0)


SIZES = [(320, 240), (768, 1024), (1280, 720), (1920, 1080), (3840, 2160)]
MODES = ["?show=both", "?mode=blocks&show=beside&size=150", "?mode=blocks&show=both&size=150"]


@pytest.mark.parametrize("query", MODES)
def test_it_fits_any_screen(hall: DisplayServer, visit: Visit, query: str) -> None:
    page = visit(f"/projector{query}", **HD)
    texts = ["Una frase muy corta.", LONG, "Anticonstitucionalísimamente " * 3]
    for number, text in enumerate(texts, 1):
        hall.show(caption(number, text, text, final=True))
        page.reload()
        until(
            page,
            f"[...document.querySelectorAll('#captions .caption')].some((e) => "
            f"Math.floor(Number(e.dataset.id)) === {number})",
        )
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(FRAMES)
            until(page, f"({CUT_OFF})().length === 0")


def test_lines_roll_up_one_by_one(hall: DisplayServer, visit: Visit) -> None:
    """Old text leaves line by line, not as a whole; no line is cut in two."""
    page = visit("/projector?lines=3&tail=1", **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    words = LONG.split()[:24]
    hall.say(1, " ".join(words[:12]), final=True)
    expect(page.locator("[data-id='1']").first).to_have_count(1)
    line_px = page.locator("#stage").evaluate("e => e.getBoundingClientRect().height") / 3
    for count in range(1, 25):
        hall.say(2, " ".join(words[:count]))
        expect(page.locator("#captions [data-id='2'] .text")).to_have_text(" ".join(words[:count]))
        tops = page.locator(SHOWN).evaluate_all(
            "all => all.map((e) => e.closest('.caption').offsetTop + e.closest('ol').offsetTop)"
        )
        assert all(abs(top / line_px - round(top / line_px)) < 0.02 for top in tops)
    hall.say(2, " ".join(words), final=True)  # more than three lines, in the same font size
    expect(page.locator("#captions .partial")).to_have_count(0)
    assert page.locator("#captions .caption").count() == 2
    assert place_of(page.locator("#captions"))["height"] > 5.9 * line_px
    page.wait_for_timeout(300)  # smooth scrolling
    bottom = place_of(page.locator("#captions"))
    assert bottom["y"] + bottom["height"] == pytest.approx(720 * 0.94, abs=1)
    assert cut_off(page) == []


def test_a_whole_sentence_at_a_time(hall: DisplayServer, visit: Visit) -> None:
    """In blocks mode only finals are shown, and lines end where phrases end."""
    page = visit("/projector?mode=blocks", **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    hall.say(1, "El Señor es mi pastor")
    hall.say(1, "El Señor es mi pastor; nada me", stable=10)
    page.wait_for_timeout(300)
    assert shown(page) == []
    hall.say(1, "El Señor es mi pastor; nada me faltará.", final=True)
    expect(page.locator(SHOWN)).to_have_count(1)
    assert shown(page) == ["El Señor es mi pastor;\nnada me faltará."]
    box = place_of(page.locator(SHOWN))
    assert abs(box["y"] + box["height"] / 2 - 360) < 3
    hall.reopen(1)  # it stands until it is final again
    hall.say(1, "El Señor es mi pastor; nada me faltará: en")
    page.wait_for_timeout(300)
    assert shown(page) == ["El Señor es mi pastor;\nnada me faltará."]
    hall.say(1, "El Señor es mi pastor; nada me faltará: él me guía.", final=True)
    expect(page.locator(SHOWN)).to_contain_text("él me guía.")
    expect(page.locator(SHOWN)).to_have_count(1)
    hall.edit(1, "Jehová es mi pastor.")
    expect(page.locator(SHOWN)).to_have_text("Jehová es mi pastor.")
    hall.hide(1)
    expect(page.locator(SHOWN)).to_have_count(0)


def test_a_long_sentence_comes_in_pages_and_none_is_skipped(
    hall: DisplayServer, visit: Visit
) -> None:
    log = """window.said = [];
    addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
      const text = document.querySelector("#captions")?.textContent.replace(/\\s+/g, " ");
      if (text && text !== window.said[window.said.length - 1]) window.said.push(text);
    }).observe(document.querySelector("#captions"), {childList: true, subtree: true}));"""
    younger = ["toSpliced", "toSorted", "toReversed", "with", "findLast", "findLastIndex"]
    old = "".join(f"delete Array.prototype.{name};" for name in younger)  # a browser of 2022
    page = visit("/projector?mode=blocks&lines=2", log + old, **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    sentences = [LONG[:148].strip(), "Así dice el apóstol.", "Y nosotros también."]
    for number, text in enumerate(sentences, 1):
        hall.say(number, text, final=True)
    until(page, "(window.said[window.said.length - 1] ?? '').includes('nosotros')")
    said = page.evaluate("window.said")
    assert len(said) >= 5
    assert " ".join(said) == " ".join(sentences)
    assert page.locator("#captions").evaluate("e => e.textContent.split('\\n').length") <= 2


def test_every_page_of_a_sentence_that_is_hidden_leaves(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/projector?mode=blocks&lines=2&clear=0", **HD)
    hall.say(1, " ".join(f"palabra número {n}," for n in range(40)), final=True)
    expect(page.locator("#captions")).to_contain_text("número 12,")  # its second or third page
    hall.hide(1)
    expect(page.locator("#captions .caption")).to_have_count(0, timeout=10_000)


def test_a_word_waits_for_the_sentence_that_it_can_join(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/projector?mode=blocks", RECORD, **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    hall.say(1, "Amén.", final=True)
    page.wait_for_timeout(500)
    assert shown(page) == []
    hall.say(2, "Vamos a orar juntos.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Amén. Vamos a orar juntos.")
    hall.say(3, "Aleluya.", final=True)  # nothing follows
    expect(page.locator(SHOWN)).to_have_text("Aleluya.")


def test_both_languages_one_below_the_other_or_side_by_side(
    hall: DisplayServer, visit: Visit
) -> None:
    hall.say(1, "El Señor es mi pastor.", "The Lord is my shepherd.", final=True)
    page = visit("/projector", **HD)
    source = page.locator("#captions .source")
    expect(page.locator(SHOWN)).to_be_visible()
    expect(source).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).cursor") == "none"
    for show in ("both", "beside"):
        page.goto(f"{hall.url}/projector?show={show}")
        expect(source).to_have_text("The Lord is my shepherd.")
        assert source.get_attribute("lang") == "en"
        target, heard = place_of(page.locator(SHOWN)), place_of(source)
        if show == "both":
            assert target["y"] + target["height"] <= heard["y"] + 1
    assert target["x"] + target["width"] < heard["x"]
    assert target["y"] == heard["y"]
    assert target["width"] == pytest.approx(heard["width"], abs=1)


def test_the_address_sets_size_and_margin(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "El Señor es mi pastor.", final=True)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    page = visit("/projector", **HD)
    usual = page.locator(SHOWN).evaluate(size)
    page.goto(page.url + "?size=50&margin=0")
    assert page.locator(SHOWN).evaluate(size) == pytest.approx(usual / 2, abs=0.1)
    assert place_of(page.locator("#stage"))["width"] == 1280
    page.goto(page.url.split("?")[0] + "?size=9999&margin=wide&lines=-1&mode=x&show=y")
    assert page.locator(SHOWN).evaluate(size) == usual
    box = place_of(page.locator("#stage"))
    assert box["x"] == pytest.approx(1280 * 0.06, abs=1)
    assert 720 - box["y"] - box["height"] == pytest.approx(720 * 0.06, abs=1)


def test_a_burst_is_caught_up_without_skipping_a_final(hall: DisplayServer, visit: Visit) -> None:
    """Nine finals at once: each is shown, in order, for at least half a second."""
    page = visit("/projector?captions=1", RECORD, **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    for number in range(1, 10):
        hall.say(number, f"{number}: {LONG[:36]}", final=True)
    until(page, "window.arrived.length > 0")
    assert hall.glass("projector") < 9, "it acknowledges what is on the screen"
    until(page, "window.arrived.some(([id]) => id === 9)")
    log: list[tuple[int, str, float]] = page.evaluate("window.arrived")
    came = {number: at for number, what, at in log if what == "in"}
    left = {number: at for number, what, at in log if what == "out"}
    assert list(came) == list(range(1, 10))
    dwell = [left[number] - came[number] for number in range(1, 9)]
    assert min(dwell) > 450
    assert dwell[-1] > 3 * dwell[0]  # the fewer captions wait, the longer each stays
    wait_for(lambda: hall.glass("projector") == 9)


def test_stale_text_is_cleared_and_a_sentence_does_not_leave_with_a_short_one_that_has_left(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/projector?clear=1", **HD)
    hall.say(1, "Amén.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Amén.")
    hall.state("speech")
    page.wait_for_timeout(1500)
    assert shown(page) == ["Amén."]
    hall.state("listening")
    expect(page.locator(SHOWN)).to_have_count(0)
    hall.say(2, "Oremos todos juntos.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Oremos todos juntos.")
    page = visit("/projector?captions=2&clear=0", **HD)
    expect(page.locator(SHOWN)).to_have_text(["Amén. Oremos todos juntos."])
    hall.say(3, "Y ahora la lectura.", final=True)
    hall.say(4, "Del libro de los Salmos.", final=True)
    expect(page.locator(SHOWN)).to_have_text(["Y ahora la lectura.", "Del libro de los Salmos."])
    hall.edit(2, "Oremos.")  # so short that the next one would join it
    hall.edit(4, "Del Salmo veintitrés.")
    expect(page.locator(SHOWN)).to_have_text(["Y ahora la lectura.", "Del Salmo veintitrés."])


def test_another_service_does_not_show_the_words_of_the_one_before(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/projector?mode=blocks&clear=0", **HD)
    hall.say(1, "La sesión de ayer fue larga.", final=True)
    expect(page.locator(SHOWN)).to_have_text("La sesión de ayer fue larga.")
    hall.close()
    hall.boards = {"es": CaptionBoard("two", "en", "es", 200)}
    hall.say(1, "Buenos días a todos ustedes.", final=True)
    hall.open()
    expect(page.locator(SHOWN)).to_have_text("Buenos días a todos ustedes.")


def test_stale_text_is_cleared_while_the_server_is_away(hall: DisplayServer, visit: Visit) -> None:
    """It is cleared although the page keeps trying to reconnect."""
    page = visit("/projector?clear=3", "Math.random = () => 0;", **HD)
    hall.say(1, "Amén.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Amén.")
    hall.close()
    expect(page.locator(SHOWN)).to_have_count(0, timeout=6000)


def test_a_sign_of_life_is_no_speech(hall: DisplayServer, visit: Visit) -> None:
    """It does not keep stale text on the screen."""
    page = visit("/projector?clear=60", fresh=True, **HD)
    routes: list[WebSocketRoute] = []

    def pass_on(route: WebSocketRoute) -> None:
        routes.append(route)
        server = route.connect_to_server()
        server.on_message(route.send)

    page.route_web_socket("**/ws**", pass_on)
    page.clock.install()
    page.reload()
    expect(page.locator(STATUS)).to_be_hidden()
    hall.say(1, "Oremos todos juntos.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Oremos todos juntos.")
    for _ in range(7):
        routes[-1].send('{"type":"alive","seq":1}')
        page.wait_for_timeout(20)
        page.clock.fast_forward(10_000)
    expect(page.locator(SHOWN)).to_have_count(0, timeout=5_000)


def test_another_size_of_the_window_folds_the_text_anew(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "El Señor es mi pastor; nada me faltará.", final=True)
    page = visit("/projector?mode=blocks", **HD)
    expect(page.locator(SHOWN)).to_have_count(1)
    assert shown(page)[0].count("\n") == 1
    page.set_viewport_size({"width": 1280, "height": 200})
    until(page, "!document.querySelector('#captions').textContent.includes('\\n')")
    assert cut_off(page) == []


def test_without_states_there_are_captions_and_nothing_else(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/projector?states=0", **HD)
    for state in ("muted", "no-audio", "fault"):
        hall.state(state)
        hall.say(1, f"Gracia {state}.", final=True)
        expect(page.locator("#captions")).to_contain_text("Gracia")
        expect(page.locator("#status")).to_be_hidden()


def test_the_state_is_small_and_in_the_captions_language(hall: DisplayServer, visit: Visit) -> None:
    page = visit("/projector", **HD)
    status = page.locator("#status")
    hall.state("no-audio", "microphone lost: USB")
    expect(status).to_have_text("Sin micrófono")
    box = place_of(status)
    assert box["height"] < 720 * 0.05
    hall.state("paused")
    expect(status).to_have_text("En pausa")
    hall.state("speech")
    expect(status).to_be_hidden()
    hall.close()
    expect(status).to_have_text("Reconectando")
    hall.say(1, "Entre tanto.", final=True)
    hall.open()
    expect(status).to_be_hidden()
    expect(page.locator(SHOWN)).to_have_text("Entre tanto.")


def test_an_address_that_the_server_refuses_is_explained(visit: Visit) -> None:
    page = visit("/projector?lang=fr", **HD)
    expect(page.locator("#status-text")).to_contain_text("fr")
    expect(page.locator("#status-text")).to_contain_text("es")


def test_blank_is_black(hall: DisplayServer, visit: Visit) -> None:
    hall.say(1, "No mostrar.", final=True)
    page = visit("/projector", **HD)
    expect(page.locator(SHOWN)).to_be_visible()
    lit = page.screenshot()
    hall.state("blank")
    expect(page.locator(SHOWN)).to_be_hidden()
    page.wait_for_timeout(400)
    black = page.screenshot()
    page.goto("about:blank")
    page.evaluate("document.documentElement.style.background = 'rgb(0, 0, 0)'")
    assert page.screenshot() == black
    assert lit != black


def test_after_a_long_break_it_goes_on_with_what_is_said_now(
    hall: DisplayServer, visit: Visit
) -> None:
    hall.say(1, "Antes.", final=True)
    page = visit("/projector", RECORD, **HD)
    expect(page.locator(SHOWN)).to_have_text("Antes.")
    hall.close()
    for number in range(2, 40):
        hall.say(number, f"Esta es la frase {number}.", final=True)
    hall.open()
    until(page, "window.arrived.some(([id]) => id === 39)")
    assert shown(page) == ["Esta es la frase 37.", "Esta es la frase 38.", "Esta es la frase 39."]
    hall.restart("two")
    hall.say(40, "Esta es la frase 40.", final=True)
    until(page, "document.querySelector('#captions [data-id=\"40\"]')")
    assert shown(page) == ["Esta es la frase 38.", "Esta es la frase 39.", "Esta es la frase 40."]


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1920, 540)])
def test_captions_stand_where_the_address_says(
    hall: DisplayServer, visit: Visit, width: int, height: int
) -> None:
    """On 4:3 and 32:9; lines that do not fit leave at the top, at every position."""
    hall.say(1, "Oremos todos juntos.", final=True)
    page = visit(viewport={"width": width, "height": height})
    for place, share in (("top", 0.0), ("centre", 0.5), ("bottom", 1.0)):
        page.goto(f"{hall.url}/projector?place={place}&ground=light")
        expect(page.locator(".text").first).to_be_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        edge = height * 0.06
        line = place_of(page.locator("#captions .text"))
        expected = edge + share * (height - 2 * edge - line["height"])
        assert abs(line["y"] - expected) < 0.03 * height
    hall.say(2, LONG, final=True)
    for place in ("top", "centre"):
        page.goto(f"{hall.url}/projector?place={place}")
        expect(page.get_by_text("Porque de tal manera").first).to_be_attached()
        until(page, f"({CUT_OFF})().length === 0")


def test_an_empty_wall_shows_the_church(browser: Browser) -> None:
    church = Church(name="Grace Community Church", colour="#7a1f3d")
    with DisplayServer(church=church) as hall:
        page = browser.new_page()
        page.goto(f"{hall.url}/projector")
        expect(page.get_by_text("Grace Community Church")).to_be_visible()
        hall.say(1, "Oremos todos juntos.", final=True)
        expect(page.get_by_text("Grace Community Church")).to_be_hidden()
        page.goto(f"{hall.url}/")
        expect(page.locator(".church")).to_have_text("Grace Community Church")
        page.close()
