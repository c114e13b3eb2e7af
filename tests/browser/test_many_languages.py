"""A hall with several caption languages: each phone shows its own, in its own script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from scripts.support.display_server import DisplayServer
from scripts.support.records import caption
from tests.browser.conftest import Visit, place_of
from tests.support.patience import wait_for

pytestmark = pytest.mark.browser

SAID = "The Lord is my shepherd; I shall not want."
READ = {
    "es": "El Señor es mi pastor; nada me faltará.",
    "fr": "L’Éternel est mon berger : je ne manquerai de rien.",
    "ar": "الرب راعيّ فلا يعوزني شيء.",
    "zh": "耶和华是我的牧者，我必不至缺乏。",
    "ko": "여호와는 나의 목자시니 내게 부족함이 없으리로다.",
}


SPLIT_WORDS = """(one) => {
  const split = [];
  const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) split.push(word[0]);
    }
  }
  return split;
}"""
"""An element's words that span more than one line."""
LAST_LINE = """(one) => {
  const range = document.createRange();
  const text = one.firstChild;
  const tops = [...text.data].map((_, at) => {
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().top;
  });
  return tops.filter((top, at) => top === tops.at(-1) && /\\p{L}/u.test(text.data[at])).length;
}"""
"""The number of letters in the last line of an element."""

PLACE = """(one, word) => {
  const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const at = texts.currentNode.data.indexOf(word);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(texts.currentNode, at);
    range.setEnd(texts.currentNode, at + word.length);
    return range.getBoundingClientRect().left;
  }
}"""
"""The left edge of a word in an element."""
END_OF_LINE = """(one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return range.getBoundingClientRect().right;
}"""


@pytest.fixture
def hall() -> Iterator[DisplayServer]:
    with DisplayServer(extra_targets=[lang for lang in READ if lang != "es"]) as running:
        for lang, text in READ.items():
            shown = caption(1, SAID, text, final=True, lang=lang)
            if lang == "es":
                running.show(shown)
            else:
                running.show_in(lang, shown)
        yield running


def reads(page: Page, lang: str, text: str) -> None:
    expect(page.locator(".caption .text").first).to_have_text(text)
    assert page.locator(".caption .text").first.get_attribute("lang") == lang


def test_a_link_chooses_and_is_remembered_until_the_reader_chooses(visit: Visit) -> None:
    page = visit("/?lang=zh")
    reads(page, "zh", READ["zh"])
    page.goto(page.url.partition("?")[0])
    reads(page, "zh", READ["zh"])
    page.goto(f"{page.url}?lang=fr")
    reads(page, "fr", READ["fr"])
    page.locator("#open").click()
    page.locator("#lang").select_option("ko")
    reads(page, "ko", READ["ko"])
    assert "lang=" not in page.url
    page.reload()
    reads(page, "ko", READ["ko"])


def test_in_arabic_page_and_captions_run_from_right_to_left(visit: Visit) -> None:
    page = visit(locale="ar-EG")
    reads(page, "ar", READ["ar"])
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    text = page.locator(".caption .text").first
    assert text.get_attribute("dir") == "rtl"
    assert text.evaluate("e => getComputedStyle(e).textAlign") == "start"
    box, line = place_of(text), text.evaluate(END_OF_LINE)
    assert abs(box["x"] + box["width"] - line) < 2
    expect(page.locator("#status-text")).to_have_text("جارٍ الاستماع")
    middle = page.viewport_size["width"] / 2  # type: ignore[index]
    status, settings = (place_of(page.locator(each)) for each in ("#status", "#open"))
    assert settings["x"] + settings["width"] < middle < status["x"] + status["width"]


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("YouTube هو موقع كبير جدا.", "كبير", "YouTube"),
        ("قال Jesus Christ Superstar Show", "Christ", "Show"),
    ],
)
def test_foreign_words_in_arabic_stand_in_their_place(
    hall: DisplayServer, visit: Visit, text: str, first: str, second: str
) -> None:
    page = visit("/?lang=ar")
    hall.show_in("ar", caption(2, SAID, text, final=True, lang="ar"))
    shown = page.locator(".caption .text").last
    expect(shown).to_have_text(text)
    left, right = (shown.evaluate(PLACE, word) for word in (first, second))
    assert left < right


@pytest.mark.parametrize("path", ["/", "/projector", "/obs"])
def test_a_long_line_breaks_inside_the_screen_and_no_korean_word_breaks(
    hall: DisplayServer, visit: Visit, path: str
) -> None:
    for count, lang in enumerate(("ar", "zh", "ko"), 1):
        page = visit(f"{path}?lang={lang}")
        there = path.strip("/") or "audience"
        wait_for(lambda: hall.clients(there) == count)  # noqa: B023 - the overlay shows no past
        space = "" if lang == "zh" else " "  # between sentences
        hall.show_in(lang, caption(2, SAID, space.join([READ[lang]] * 4), final=True, lang=lang))
        shown = page.locator(f"#captions [lang='{lang}']").last
        expect(shown).to_contain_text(space.join([READ[lang]] * 2))
        assert page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        ), lang
        if lang == "ko":
            assert shown.evaluate(SPLIT_WORDS) == []


def test_the_last_line_of_a_chinese_sentence_is_no_single_letter(
    hall: DisplayServer, visit: Visit
) -> None:
    page = visit("/?lang=zh")
    reads(page, "zh", READ["zh"])
    ending = page.locator(".ending").first
    for width in range(320, 400, 8):
        page.set_viewport_size({"width": width, "height": 700})
        assert ending.evaluate(LAST_LINE) >= 2, width


def test_a_phone_that_came_before_the_service_gets_its_language_then_and_the_next_service(
    hall: DisplayServer, visit: Visit
) -> None:
    """A relay that has just started knows neither the session nor its languages."""
    hall.adopt("")
    page = visit("/?lang=fr")
    expect(page.locator("#status-text")).to_have_text("Listening")
    hall.adopt("one", ["fr"])
    hall.show_in("fr", caption(1, SAID, READ["fr"], final=True, lang="fr"))
    reads(page, "fr", READ["fr"])
    hall.adopt("two", ["fr", "ko"])
    expect(page.locator(".caption")).to_have_count(0)
    hall.show_in("fr", caption(1, SAID, "Au commencement.", final=True, lang="fr"))
    reads(page, "fr", "Au commencement.")
    hall.adopt("three")  # a service without French: its first language
    hall.say(1, "En el principio.", final=True)
    reads(page, "es", "En el principio.")
