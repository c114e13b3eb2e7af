"""The projector page in a real browser, before the real hub."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.displays.conftest import Visit, until
from tests.displays.hall import Hall
from tests.scripted import caption

pytestmark = pytest.mark.browser

HD = {"viewport": {"width": 1280, "height": 720}}
SHOWN = "#captions .caption .text"
STATUS = "#status"  # hidden once the page is connected and all is well
LONG = "Porque de tal manera amó Dios al mundo, que ha dado a su Hijo unigénito. " * 5
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
    """Texts that reach beyond the window, and whatever has a scrollbar."""
    script = """() => {
      const out = [...document.querySelectorAll("#captions p")].filter((e) => {
        const b = e.getBoundingClientRect();
        return b.top < 0 || b.left < 0 || b.right > innerWidth || b.bottom > innerHeight;
      }).map((e) => e.textContent.slice(0, 40));
      const d = document.documentElement;
      if (d.scrollWidth > innerWidth || d.scrollHeight > innerHeight) out.push("scrolls");
      if (innerWidth !== d.clientWidth) out.push("has a scrollbar");
      return out;
    }"""
    found: list[str] = page.evaluate(script)
    return found


def test_a_browser_of_2022_will_do(hall: Hall, visit: Visit) -> None:
    younger = ["toSpliced", "toSorted", "toReversed", "with", "findLast", "findLastIndex"]
    page = visit("/projector", "".join(f"delete Array.prototype.{n};" for n in younger), **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    hall.say(1, "Frase 1.", final=True)
    expect(page.locator(SHOWN)).to_have_text(["Frase 1."])


def test_the_last_three_captions_are_shown(hall: Hall, visit: Visit) -> None:
    for number in range(1, 8):
        hall.say(number, f"Frase {number}.", final=True)
    page = visit("/projector", **HD)
    expect(page.locator(SHOWN)).to_have_count(3)
    assert shown(page) == ["Frase 5.", "Frase 6.", "Frase 7."]
    expect(page.locator("#captions .source").first).to_be_hidden()
    expect(page.locator("#status")).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).cursor") == "none"


def test_both_languages(hall: Hall, visit: Visit) -> None:
    hall.say(1, "El Señor es mi pastor.", "The Lord is my shepherd.", final=True)
    page = visit("/projector?show=both", **HD)
    expect(page.locator("#captions .source")).to_have_text("The Lord is my shepherd.")
    expect(page.locator("#captions .source")).to_be_visible()
    assert page.locator("#captions .source").get_attribute("lang") == "en"


def test_a_final_replaces_its_partial_in_place(hall: Hall, visit: Visit) -> None:
    page = visit("/projector", **HD)
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


@pytest.mark.parametrize("size", [(320, 240), (640, 480), (1280, 720), (1024, 768), (3840, 2160)])
@pytest.mark.parametrize("show", ["target", "both"])
def test_it_fits_any_screen(hall: Hall, visit: Visit, size: tuple[int, int], show: str) -> None:
    width, height = size
    page = visit(f"/projector?show={show}", viewport={"width": width, "height": height})
    for number, text in enumerate(["Corta.", LONG, "Anticonstitucionalísimamente " * 3], 1):
        hall.show(caption(number, text, text, final=True))
        page.reload()
        expect(page.locator(f"#captions [data-id='{number}']")).to_have_count(1)
        assert cut_off(page) == []


def test_a_burst_is_caught_up_without_skipping_a_final(hall: Hall, visit: Visit) -> None:
    """Nine finals at once: each is seen, in order, for half a second at least."""
    page = visit("/projector?captions=1", RECORD, **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    for number in range(1, 10):
        hall.say(number, f"{number}: {LONG[:36]}", final=True)
    until(page, "window.arrived.some(([id]) => id === 9)")
    log: list[tuple[int, str, float]] = page.evaluate("window.arrived")
    came = {number: at for number, what, at in log if what == "in"}
    left = {number: at for number, what, at in log if what == "out"}
    assert list(came) == list(range(1, 10))
    dwell = [left[number] - came[number] for number in range(1, 9)]
    assert min(dwell) > 450
    assert dwell[-1] > 3 * dwell[0]  # the fewer wait, the longer each may stay


def test_a_caption_waits_until_the_one_before_could_be_read(hall: Hall, visit: Visit) -> None:
    page = visit("/projector?captions=1", RECORD, **HD)
    expect(page.locator(STATUS)).to_be_hidden()
    hall.say(1, "Treinta y seis letras para leerlas.", final=True)
    hall.say(2, "Otra.", final=True)
    expect(page.locator("[data-id='1']").first).to_have_count(1)
    assert hall.glass("projector") <= 1
    until(page, "window.arrived.some(([id]) => id === 2)")
    (_, _, first), *_, (_, _, second) = page.evaluate("window.arrived.filter((e) => e[1] === 'in')")
    assert 1700 < second - first < 3500
    until(page, "document.querySelectorAll('#captions .caption').length === 1")
    page.wait_for_timeout(200)
    assert hall.glass("projector") == 2


def test_stale_text_is_cleared(hall: Hall, visit: Visit) -> None:
    page = visit("/projector?clear=1", **HD)
    hall.say(1, "Amén.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Amén.")
    hall.state("speech")
    page.wait_for_timeout(1500)
    assert shown(page) == ["Amén."]
    hall.state("listening")
    expect(page.locator(SHOWN)).to_have_count(0)
    hall.edit(1, "Amén y amén.")  # what has left the screen does not come back by an edit
    hall.say(2, "Oremos.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Oremos.")


def test_the_state_is_small_and_in_the_captions_language(hall: Hall, visit: Visit) -> None:
    page = visit("/projector", **HD)
    status = page.locator("#status")
    hall.state("no-audio", "microphone lost: USB")
    expect(status).to_have_text("Sin micrófono")
    box = status.bounding_box()
    assert box is not None
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


def test_blank_is_black(hall: Hall, visit: Visit) -> None:
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


def test_after_a_long_break_it_goes_on_with_what_is_said_now(hall: Hall, visit: Visit) -> None:
    hall.say(1, "Antes.", final=True)
    page = visit("/projector", RECORD, **HD)
    expect(page.locator(SHOWN)).to_have_text("Antes.")
    hall.close()
    for number in range(2, 40):
        hall.say(number, f"Frase {number}.", final=True)
    hall.open()
    until(page, "window.arrived.some(([id]) => id === 39)")
    assert shown(page) == ["Frase 37.", "Frase 38.", "Frase 39."]
    hall.restart("two")
    hall.say(40, "Frase 40.", final=True)
    until(page, "document.querySelector('#captions [data-id=\"40\"]')")
    assert shown(page) == ["Frase 38.", "Frase 39.", "Frase 40."]
