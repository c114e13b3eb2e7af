"""The overlay page in a real browser with the real hub: what goes on air, and what never may."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import WATCH_POLICY, Visit, place_of, until
from tests.support.golden import MESSAGES, SNAPSHOT
from tests.support.paths import ROOT
from tests.support.patience import wait_for

pytestmark = pytest.mark.browser

GUIDE = ROOT / "docs" / "OBS.md"
HD = {"viewport": {"width": 1280, "height": 720}}
FULL = {"width": 1920, "height": 1080}
SHOWN = "#captions .caption .text"
LONG = "Porque de tal manera amó Dios al mundo, que ha dado a su Hijo unigénito. " * 2
READY = "document.documentElement.dataset.show !== undefined"
PREVIEW = "document.querySelector('#captions .caption') !== null"


def overlay(
    visit: Visit, hall: DisplayServer, query: str = "", script: str = "", **options: object
) -> Page:
    """Open the overlay with these parameters and wait until it is connected."""
    before = hall.clients("obs")
    page = visit(f"/obs?{query}", script, **{**HD, **options})
    until(page, READY)
    page.evaluate(LINES + WATCH)
    wait_for(lambda: hall.clients("obs") > before)
    return page


def style(page: Page, selector: str, name: str) -> str:
    found: str = page.locator(selector).first.evaluate(
        "(element, name) => getComputedStyle(element)[name]", name
    )
    return found


def pixels(page: Page) -> npt.NDArray[np.uint8]:
    """Return the page's pixels as a mixer gets them: rows of (red, green, blue, alpha)."""
    picture = Image.open(io.BytesIO(page.screenshot(omit_background=True))).convert("RGBA")
    return np.asarray(picture)


def box_of(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Return left, top, right, bottom."""
    box = place_of(page.locator(selector).first)
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


LINES = """
window.linesSeen = () => {
  const hole = document.querySelector("#window").getBoundingClientRect();
  const lines = new Map();
  const walker = document.createTreeWalker(document.querySelector("#captions"), 4);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const box = range.getClientRects()[0];
      const middle = box && (box.top + box.bottom) / 2;
      if (!box || middle < hole.top || middle > hole.bottom) continue;
      const line = Math.round(middle / 4);
      lines.set(line, (lines.get(line) ?? "") + node.data[at]);
    }
  }
  return [...lines.entries()].sort((a, b) => a[0] - b[0]).map(([, text]) => text.trim());
};
"""
WATCH = """
window.seen = [];
window.together = [];
window.watch = () => setInterval(() => {
  const lines = window.linesSeen();
  window.together.push(lines);
  for (const line of lines) if (!window.seen.includes(line)) window.seen.push(line);
}, 100);
0 // else playwright would call the function
"""


def lines_seen(page: Page) -> list[str]:
    """Return the text of each line that is inside the window, from the top."""
    found: list[str] = page.evaluate(LINES + "window.linesSeen()")
    return found


def test_all_but_the_text_is_transparent(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall)
    assert not pixels(page)[..., 3].any()
    hall.say(1, "El Señor es mi pastor.", final=True)
    expect(page.locator(SHOWN)).to_have_text("El Señor es mi pastor.")
    page.wait_for_timeout(300)
    picture = pixels(page)
    left, top, right, bottom = (round(edge) for edge in box_of(page, SHOWN))
    inside = picture[top:bottom, left:right]
    white = (inside[..., :3].min(axis=-1) > 240) & (inside[..., 3] == 255)
    black = (inside[..., :3].max(axis=-1) < 15) & (inside[..., 3] == 255)
    assert white.mean() > 0.1
    assert black.mean() > 0.05  # the outline of the letters
    outside = picture.copy()
    edge = round(720 * 0.006)
    outside[top - edge : bottom + edge, left - edge : right + edge] = 0
    assert not outside[..., 3].any()
    # Large enough to read, and not in the outer 5 % that a television may cut off.
    for width, height in ((1280, 720), (1920, 1080), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        until(page, f"innerHeight === {height}")
        _, upper, _, lower = box_of(page, SHOWN)
        assert lower <= height * 0.955
        assert 0.03 * height < lower - upper < 0.09 * height


def test_nothing_is_shown_before_somebody_speaks(hall: DisplayServer, visit: Visit) -> None:
    """Earlier captions may be of any age, and a state must not go on air."""
    hall.say(1, "De antes.", final=True)
    page = overlay(visit, hall)
    page.wait_for_timeout(300)
    assert not pixels(page)[..., 3].any()
    for state in ("no-audio", "fault", "paused", "behind"):
        hall.state(state)
    page.wait_for_timeout(200)
    assert not pixels(page)[..., 3].any()
    hall.close()
    page.wait_for_timeout(300)
    assert not pixels(page)[..., 3].any()
    hall.open("speech")
    hall.say(2, "De ahora.", final=True)
    expect(page.locator(SHOWN).last).to_have_text("De ahora.")


def test_one_who_comes_while_somebody_speaks_gets_the_newest(
    hall: DisplayServer, visit: Visit
) -> None:
    for number in range(1, 9):
        hall.say(number, f"Es la frase {number}.", final=True)
    hall.state("speech")
    page = overlay(visit, hall)
    until(page, "document.querySelectorAll('#captions .caption').length > 0")
    assert lines_seen(page) == ["Es la frase 7.", "Es la frase 8."]


def test_a_final_replaces_its_partial_and_edits_and_hides_reach_the_air(
    hall: DisplayServer, visit: Visit
) -> None:
    page = overlay(visit, hall)
    hall.say(1, "El Señor es", stable=8)
    element = page.wait_for_selector("#captions .caption")
    assert element is not None
    assert float(style(page, ".rest", "opacity")) < 1
    hall.say(1, "El Señor es mi pastor.", final=True)
    expect(page.locator(SHOWN)).to_have_text("El Señor es mi pastor.")
    assert element.evaluate("e => e === document.querySelector('#captions .caption')")
    hall.edit(1, "Jehová es mi pastor.")
    expect(page.locator(SHOWN)).to_have_text("Jehová es mi pastor.")
    hall.hide(1)
    expect(page.locator(SHOWN)).to_have_count(0)
    page.wait_for_timeout(300)
    assert not pixels(page)[..., 3].any()
    assert hall.glass("obs") > 0


def test_blank_is_transparent_at_once(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall, "box=000000")
    hall.say(1, "No mostrar.", final=True)
    expect(page.locator(SHOWN)).to_be_visible()
    hall.state("blank")
    expect(page.locator(SHOWN)).to_be_hidden()
    assert not pixels(page)[..., 3].any()
    hall.state("listening")
    expect(page.locator(SHOWN)).to_be_visible()


def test_the_text_goes_after_a_while_without_speech(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall, "hide=1")
    hall.state("speech")
    hall.say(1, "Amén, hermanos míos.", final=True)
    expect(page.locator(SHOWN)).to_have_count(1)
    page.wait_for_timeout(1500)
    expect(page.locator(SHOWN)).to_have_count(1)
    hall.state("listening")
    expect(page.locator(SHOWN)).to_have_count(0)
    assert not pixels(page)[..., 3].any()
    hall.edit(1, "Amén, hermanas mías.")  # an edit does not bring back a caption that has left
    hall.say(2, "Oremos ahora juntos.", final=True)
    expect(page.locator(SHOWN)).to_have_text(["Oremos ahora juntos."])
    hall.say(3, "Gracia y", stable=3)
    expect(page.locator(SHOWN).last).to_have_text("Gracia y")
    expect(page.locator(SHOWN)).to_have_count(0)
    hall.say(3, "Gracia y paz a ustedes.", final=True)  # its final comes after it went
    expect(page.locator(SHOWN)).to_have_text("Gracia y paz a ustedes.")


def test_it_hides_while_the_server_is_away_and_comes_back_with_it(
    hall: DisplayServer, visit: Visit
) -> None:
    page = overlay(visit, hall, "hide=3", "Math.random = () => 0;")
    hall.state("speech")
    hall.say(1, "Antes de la pausa larga.", final=True)
    expect(page.locator(SHOWN)).to_have_count(1)
    hall.close()
    expect(page.locator(SHOWN)).to_have_count(0, timeout=6000)
    hall.say(2, "Entre tanto habló.", final=True)
    hall.open("speech")
    expect(page.locator(SHOWN).last).to_have_text("Entre tanto habló.")


def test_no_line_of_a_burst_is_skipped_and_none_is_hidden_before_it_was_seen(
    hall: DisplayServer, visit: Visit
) -> None:
    """Five captions at once, one of them longer than the window: every line is seen."""
    page = overlay(visit, hall, "lines=2&size=60&hide=1")
    texts = [f"Esta es la frase número {n}." for n in range(1, 5)]
    texts.insert(2, LONG.strip())
    page.evaluate("window.watch()")
    for number, text in enumerate(texts, 1):
        hall.say(number, text, final=True)
    until(page, f"window.seen.includes({texts[-1]!r})")
    assert page.locator(SHOWN).count() <= 3  # captions that have rolled out are removed
    expect(page.locator(SHOWN)).to_have_count(0)
    assert " ".join(page.evaluate("window.seen")).split() == " ".join(texts).split()
    assert hall.glass("obs") > 0


@pytest.fixture(scope="module")
def demo(browser: Browser) -> Iterator[Page]:
    """Yield an overlay page whose modules tests can call."""
    context = browser.new_context(viewport={"width": 1920, "height": 1080})
    with DisplayServer() as running:
        page = context.new_page()
        page.goto(f"{running.url}/obs?demo")
        until(page, PREVIEW)
        yield page
        context.close()


def test_lines_roll_no_faster_than_they_can_be_read(demo: Page) -> None:
    """18 characters a second; waiting lines shorten the time, to at least half a second."""
    steps = demo.evaluate(
        """async () => {
          const { LineScroller } = await import("/js/overlay/rollup.js");
          const scroller = new LineScroller(2);
          const steps = [[scroller.step(1, 40, 0), scroller.seen]]; // there is room: at once
          steps.push([scroller.step(2, 40, 10), scroller.seen]);
          steps.push([scroller.step(3, 40, 1000), scroller.seen]); // 40 characters take 2.2 s
          steps.push([scroller.step(3, 40, 2210), scroller.seen, scroller.above]);
          steps.push([scroller.step(13, 40, 2210), scroller.seen]); // ten wait
          steps.push([scroller.step(13, 40, 2710), scroller.seen]);
          scroller.drop(1);
          steps.push([scroller.step(2, 40, 2710), scroller.seen, scroller.above]); // shorter
          return steps.map(([ms, ...rest]) => [ms === Infinity ? -1 : Math.round(ms), ...rest]);
        }"""
    )
    assert steps == [[-1, 1], [-1, 2], [1210, 2], [-1, 3, 1], [500, 3], [500, 4], [-1, 2, 0]]


def test_blocks_take_turns_and_long_ones_are_shown_in_parts(
    hall: DisplayServer, visit: Visit
) -> None:
    page = overlay(visit, hall, "mode=blocks&lines=2&size=60")
    hall.say(1, "Sin terminar", stable=3)
    page.wait_for_timeout(200)
    assert lines_seen(page) == []
    page.evaluate("window.watch()")
    first, last = "La primera frase entera.", "Y la última."
    hall.say(1, first, final=True)
    expect(page.locator(SHOWN)).to_have_text([first])
    hall.say(2, LONG.strip(), final=True)
    hall.say(3, last, final=True)
    until(page, f"window.seen.includes({last!r})")
    assert " ".join(page.evaluate("window.seen")).split() == f"{first} {LONG}{last}".split()
    for lines in page.evaluate("window.together"):
        assert len(lines) == 1 or not {first, last} & set(lines)


def test_both_languages_and_the_spoken_one_alone(hall: DisplayServer, visit: Visit) -> None:
    hall.state("speech")
    hall.say(1, "El Señor es mi pastor.", "The Lord is my shepherd.", final=True)
    page = overlay(visit, hall, "show=target&lines=4")
    expect(page.locator(SHOWN)).to_have_text("El Señor es mi pastor.")
    expect(page.locator(".source")).to_be_hidden()
    page.goto(f"{hall.url}/obs?show=source&lines=4")
    expect(page.locator(SHOWN)).to_have_text("The Lord is my shepherd.")
    expect(page.locator(".source")).to_be_hidden()
    page.goto(f"{hall.url}/obs?show=both&lines=4")
    expect(page.locator(".source")).to_be_visible()
    expect(page.locator(".source")).to_have_text("The Lord is my shepherd.")
    expect(page.locator(SHOWN)).to_have_text("El Señor es mi pastor.")
    page.wait_for_timeout(300)
    assert lines_seen(page) == ["El Señor es mi pastor.", "The Lord is my shepherd."]


LOOKS = {
    "": [
        (SHOWN, "fontSize", "54px"),
        ("body", "backgroundColor", "rgba(0, 0, 0, 0)"),
    ],
    "size=80&font=Arial,Noto+Sans&weight=900&case=upper&color=ffcc00&outline=0&background=00ff00"
    "&align=left&margin=10&width=50&partials=solid": [
        (SHOWN, "fontSize", "80px"),
        (SHOWN, "fontFamily", 'Arial, "Noto Sans", sans-serif'),
        (SHOWN, "fontWeight", "900"),
        (SHOWN, "textTransform", "uppercase"),
        (SHOWN, "color", "rgb(255, 204, 0)"),
        (SHOWN, "textShadow", "none"),
        ("body", "backgroundColor", "rgb(0, 255, 0)"),
        (SHOWN, "textAlign", "left"),
        ("#stage", "left", "192px"),
        ("#window", "width", "960px"),
        (".rest", "opacity", "1"),
    ],
    "size=10vh&colour=%23FC0&align=right&margin=40px&width=1000px&partials=dim": [
        (SHOWN, "fontSize", "108px"),
        (SHOWN, "color", "rgb(255, 204, 0)"),
        (SHOWN, "textAlign", "right"),
        ("#stage", "left", "40px"),
        ("#window", "width", "1000px"),
        (".rest", "opacity", "0.72"),
    ],
    "size=5vw&color=gold": [
        (SHOWN, "fontSize", "96px"),
        (SHOWN, "color", "rgb(255, 215, 0)"),
    ],
    "lines=3&size=100": [("#window", "height", "390px")],
}


def test_every_parameter_shows(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall, viewport=FULL)
    hall.state("speech")
    hall.say(1, "Una frase", stable=3)
    for query, looks in LOOKS.items():
        page.goto(f"{hall.url}/obs?{query}")
        expect(page.locator(SHOWN)).to_have_count(1)
        for selector, name, value in looks:
            assert style(page, selector, name) == value, (query, name)
    hall.show(caption(2, "Peace.", "السلام عليكم ورحمة الله", final=True, lang="ar"))
    page.goto(f"{hall.url}/obs?align=left")
    expect(page.locator(f"{SHOWN}[lang=ar]")).to_have_attribute("dir", "rtl")
    assert style(page, f"{SHOWN}[lang=ar]", "textAlign") == "left"  # the mixer chooses the place


def test_box_and_outline_have_their_size_and_colour(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall, "box=0000ff&opacity=50&outline=0")
    hall.state("speech")
    hall.say(1, "Una frase.", final=True)
    expect(page.locator(SHOWN)).to_have_count(1)
    page.wait_for_timeout(300)
    left, top, right, bottom = (round(edge) for edge in box_of(page, "#captions .caption"))
    picture = pixels(page)
    corner = picture[top + 3, left + 3]
    assert tuple(corner[:3]) == (0, 0, 255)
    assert 120 <= corner[3] <= 135
    assert (picture[top:bottom, left:right, 3] == 255).any()  # the letters are solid
    assert right - left < 1280 / 2  # the box is no wider than the text
    picture = picture.copy()
    picture[top:bottom, left:right] = 0
    assert not picture[..., 3].any()
    page.goto(f"{hall.url}/obs?size=100&outline=10&edge=ff0000&states=1")
    expect(page.locator(SHOWN)).to_have_count(1)
    assert style(page, SHOWN, "textShadow").startswith("rgb(255, 0, 0) 10px 0px 0px")
    page.wait_for_timeout(300)
    picture = pixels(page)
    red = (picture[..., 0] > 200) & (picture[..., 1:3].max(axis=-1) < 60) & (picture[..., 3] > 200)
    assert red.sum() > 2000
    expect(page.locator("#status")).to_be_hidden()
    hall.state("no-audio")
    expect(page.locator("#status")).to_have_text("Sin micrófono")
    hall.state("listening")
    expect(page.locator("#status")).to_be_hidden()


def test_it_stands_where_it_is_wanted(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall, viewport=FULL)
    hall.state("speech")
    hall.say(1, "Una frase.", final=True)
    for position, align in (("top", "left"), ("middle", "center"), ("bottom", "right")):
        page.goto(f"{hall.url}/obs?position={position}&align={align}&lines=3&margin=10")
        expect(page.locator(SHOWN)).to_have_count(1)
        left, top, right, bottom = box_of(page, "#captions .caption")
        down = {"top": 108 - top, "middle": 540 - (top + bottom) / 2, "bottom": 972 - bottom}
        assert abs(down[position]) < 2, (position, align)
        across = {"left": 192 - left, "center": 960 - (left + right) / 2, "right": 1728 - right}
        assert abs(across[align]) < 2, (position, align)


@pytest.mark.parametrize("address", ["partials=none", "mode=blocks"])
def test_only_finals_are_shown_and_stand_until_they_are_final_again(
    hall: DisplayServer, visit: Visit, address: str
) -> None:
    page = overlay(visit, hall, address)
    hall.say(1, "Gracia y", stable=3)
    page.wait_for_timeout(300)
    expect(page.locator(SHOWN)).to_have_count(0)
    hall.say(1, "Gracia y paz.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Gracia y paz.")
    hall.reopen(1)
    hall.say(1, "Gracia y paz a", stable=3)
    page.wait_for_timeout(300)
    expect(page.locator(SHOWN)).to_have_text("Gracia y paz.")
    hall.say(1, "Gracia y paz a todos.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Gracia y paz a todos.")


def test_a_caption_from_before_the_overlay_came_is_shown_when_it_goes_on(
    hall: DisplayServer, visit: Visit
) -> None:
    hall.say(1, "Dicho antes.", final=True)
    page = overlay(visit, hall)
    page.wait_for_timeout(300)
    expect(page.locator(SHOWN)).to_have_count(0)
    hall.reopen(1)
    hall.say(1, "Dicho antes y ahora.", final=True)
    expect(page.locator(SHOWN)).to_have_text("Dicho antes y ahora.")


WRONG = [
    "lines=99", "lines=two", "size=5km", "size=-4", "size=9999px", "size=5vhvh",
    "size=calc(1px)", "weight=650", "show=all", "mode=fast", "case=lower", "color=nonsense",
    "color=12345g", "color=inherit", "color=var(--box)", "outline=200", "edge=-1", "box=1",
    "opacity=x", "background=url(x)", "position=left", "align=justify", "margin=90", "width=1",
    "hide=-1", "partials=off", "states=yes", "font=a;b", "lang=e", "unknown=1",
]  # fmt: skip


READ = """async (query) => {
  const { readOptions } = await import("/js/overlay/options.js");
  const { values, wrong } = readOptions(new URLSearchParams(query));
  return [values, wrong];
}"""


def test_a_wrong_parameter_is_left_at_its_default_and_told(demo: Page) -> None:
    usual, none = demo.evaluate(READ, "")
    assert none == []
    for query in WRONG:
        values, wrong = demo.evaluate(READ, query)
        assert values == usual, query
        assert [query.partition("=")[0] in told for told in wrong] == [True], query
    everything = "&".join(WRONG) + "&size=70"
    values, wrong = demo.evaluate(READ, everything)
    assert values == usual | {"size": "70px"}
    assert len(wrong) == len(WRONG)


NAMES = "import('/js/overlay/options.js').then((m) => m.OPTIONS.map((each) => each.name))"
INJECTIONS = [
    "red;background:red",
    "red}body{background:red",
    '"><script>alert(1)</script>',
    "url(//evil.example/x)",
    "expression(alert(1))",
    "</style><img src=x onerror=alert(1)>",
    'Arial";}*{background:url(//evil.example)',
    "\\22;background:red",
    "var(--x, red)",
]


def test_nothing_can_be_smuggled_in_through_a_parameter(hall: DisplayServer, demo: Page) -> None:
    page = demo.context.new_page()
    page.add_init_script(WATCH_POLICY)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"exception: {error}"))
    names = demo.evaluate(NAMES)
    usual = demo.evaluate(READ, "")[0]
    queries = [urlencode(dict.fromkeys(names, each), quote_via=quote) for each in INJECTIONS]
    for query in queries:
        values, wrong = demo.evaluate(READ, query)
        assert values == usual, query
        assert len(wrong) == len(names), query
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    markup = "".join(INJECTIONS)  # a refusal is only reported, in the console and the panel
    query = urlencode(dict.fromkeys(names, markup), quote_via=quote)
    for panel in ("", "&help"):
        page.goto(f"{hall.url}/obs?{query}{panel}")
        until(page, PREVIEW if panel else READY)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgba(0, 0, 0, 0)"
        assert page.locator("script").count() == 1
        assert page.locator("img, style, iframe").count() == 0
    assert [url for url in asked if not url.startswith(f"{hall.url}/")] == []
    assert len(heard) == 2 * len(names)
    assert all(line.startswith("warning: ") and "policy:" not in line for line in heard)
    page.close()


def test_the_browser_inside_an_older_obs_will_do(hall: DisplayServer, visit: Visit) -> None:
    younger = ["toSpliced", "toSorted", "toReversed", "with", "findLast", "findLastIndex"]
    script = "".join(f"delete Array.prototype.{name};" for name in younger)
    page = overlay(visit, hall, "box=black", script)
    hall.say(1, "Amén.", final=True)
    hall.say(2, "Oremos por los enfermos.", final=True)
    expect(page.locator(SHOWN)).to_have_text(["Amén. Oremos por los enfermos."])
    css = page.evaluate(
        """async () => (await Promise.all([...document.styleSheets].map((sheet) =>
             fetch(sheet.href).then((reply) => reply.text())))).at(-1)"""
    )
    for younger_css in ("color-mix(", ":has(", "@container", "dvh", "oklch", "@layer", "&:"):
        assert younger_css not in css


def test_what_waits_does_not_pile_up_without_end(hall: DisplayServer, visit: Visit) -> None:
    page = overlay(visit, hall)
    for number in range(1, 100):
        hall.say(number, f"Es la frase número {number}.", final=True)
    until(page, "document.querySelector('#captions').textContent.includes('número 99')")
    assert page.locator(SHOWN).count() <= 60


def test_demo_shows_captions_without_a_service_and_only_on_request(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/obs?demo&lines=3", **HD)
    until(page, "document.querySelector('#captions').textContent.includes('bienvenidos')")
    assert hall.clients("obs") == 0
    corner = pixels(page)[:200]
    assert not corner[..., 3].any()
    assert page.locator(".help").count() == 0
    plain = overlay(visit, hall)
    plain.wait_for_timeout(500)
    assert plain.locator("#captions .caption, .help").count() == 0


def test_help_lists_every_parameter_and_makes_the_address(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/obs?help&align=left", **HD)
    until(page, PREVIEW)
    assert page.locator(".help th label").all_text_contents() == page.evaluate(NAMES)
    expect(page.locator("#try-align")).to_have_value("left")
    page.locator("#try-size").fill("80")
    page.locator("#try-size").press("Enter")
    page.wait_for_url(lambda url: url.endswith("/obs?help&size=80&align=left"))
    until(page, PREVIEW)
    expect(page.locator("#address")).to_have_value(f"{hall.url}/obs?size=80&align=left")
    page.locator("#try-position").select_option("top")
    page.wait_for_url(lambda url: "position=top" in url)
    until(page, "document.querySelector('#captions').textContent.includes('Buenos')")


def test_the_guide_lists_every_parameter_with_its_default(demo: Page) -> None:
    options = demo.evaluate(
        """import("/js/overlay/options.js").then((m) =>
             m.OPTIONS.map(({ name, fallback }) => [name, fallback]))"""
    )
    rows = re.findall(r"^\| `([a-z]+)` \| (.*?) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    defaults = {"lang": "the server's", "font": "the system's"}
    assert rows == [(name, defaults.get(name, f"`{fallback}`")) for name, fallback in options]


def test_examples_of_the_guide_are_understood(demo: Page) -> None:
    queries = re.findall(r"/obs\?([a-z]+=[^\s`.]+)", GUIDE.read_text("utf-8"))
    assert len(queries) >= 6
    for query in queries:
        assert demo.evaluate(READ, query)[1] == [], query


def test_the_golden_service_as_one_hears_it(visit: Visit) -> None:
    """Replay the messages that the Python side must send, until another client joins."""
    joins = next(n for n, m in enumerate(MESSAGES) if n > 0 and m["type"] == "hello")
    answers: list[dict[str, Any]] = []

    def serve(socket: WebSocketRoute) -> None:
        socket.on_message(lambda data: answers.append(json.loads(data)))
        for message in [*MESSAGES[:joins], MESSAGES[-1]]:
            socket.send(json.dumps(message))

    page = visit("/obs?demo", LINES, **HD)
    until(page, PREVIEW)
    page.route_web_socket("**/ws**", serve)
    page.goto(page.url.replace("?demo", ""))
    last = SNAPSHOT[-1]["target"]["text"]
    expect(page.locator(SHOWN).last).to_have_text(last)
    until(page, f"window.linesSeen().join(' ').endsWith({last!r})")
    page.wait_for_timeout(300)
    newest = max(m["seq"] for m in MESSAGES[:joins] if m["type"] == "caption")
    assert answers[-1] == {"type": "ack", "seq": newest}
    assert page.locator("#captions script, #captions b").count() == 0
