"""The texts of the pages and the operator's console exist in every language, and only there."""

from __future__ import annotations

import inspect
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline.core.languages import language
from pipeline.daemon.context import state
from pipeline.workers import degradation
from tests.support.page_words import CONSOLE, LANGS, PAGES, texts

DISPLAYS = Path(__file__).parents[2] / "displays"
FOLDERS = pytest.mark.parametrize("folder", [PAGES, CONSOLE])
OTHERS = pytest.mark.parametrize("lang", LANGS[1:])
_PLACE = re.compile(r"\{\w+\}|`[^`]+`")
_NAMES = re.compile(r"--host|(?<![A-Za-z])(?:Word|PDF|QR|MB)(?![A-Za-z])")
_LITERAL = re.compile(r'"([^"\n]*)"|`([^`]*)`')
_EMPTY_TAGS = {"meta", "link", "input", "img", "use", "path"}
_KEYS = "data-word", "data-label", "data-title"
_SPOKEN = {"aria-label": "data-label", "title": "data-title"}
"""A tag's visible or spoken attributes, and the mark that names the text."""
_UNTRANSLATED = {"title", "kbd", "noscript", "abbr"}
"""A script rewrites the title; key letters and `p50` are the same in every language."""


def modules() -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in sorted(CONSOLE.parent.glob("*.js"))}


class Marked(HTMLParser):
    """A page's texts: those marked with a key, and those without a mark."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._open: list[tuple[str, dict[str, str]]] = []
        self.marks: set[str] = set()
        self.said: list[tuple[str, str]] = []
        self.unmarked: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = {name: value or "" for name, value in attrs}
        if "data-word" in have:
            self.said.append((have["data-word"], ""))
        self.marks |= {have[key] for key in _KEYS if key in have}
        for name, mark in _SPOKEN.items():
            if name in have:
                self._say(have.get(mark, ""), have[name])
        if tag not in _EMPTY_TAGS:
            self._open.append((tag, have))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY_TAGS:
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        tags = {tag for tag, _ in self._open}
        key = next((have["data-word"] for _, have in self._open if "data-word" in have), "")
        if key:
            code = self._open[-1][0] in ("code", "kbd")
            before, text = self.said[-1]
            assert key == before, "a marked element in a marked element"
            self.said[-1] = key, text + (f"`{data}`" if code else data)
        elif not tags & _UNTRANSLATED and re.search(r"[^\W\d_]", data):
            self.unmarked.append(data)

    def _say(self, key: str, text: str) -> None:
        if key:
            self.said.append((key, text))
        else:
            self.unmarked.append(text)


@pytest.fixture(scope="module")
def page() -> Marked:
    return Marked((DISPLAYS / "operator.html").read_text("utf-8"))


@pytest.mark.parametrize(
    ("folder", "module", "least"),
    [(PAGES, "js/shared/i18n.js", 30), (CONSOLE, "js/operator/wording.js", 200)],
)
def test_these_languages_are_spoken_and_each_has_every_text(
    folder: Path, module: str, least: int
) -> None:
    (table,) = re.findall(
        r"^const TABLE = \{ (.+) \};$", (DISPLAYS / module).read_text("utf-8"), re.MULTILINE
    )
    assert table == ", ".join(f"{lang}: {lang.upper()}" for lang in LANGS)
    assert {path.stem for path in folder.iterdir()} == set(LANGS)
    english = texts("en", folder)
    assert len(english) > least
    for lang in LANGS:
        found = texts(lang, folder)
        assert list(found) == list(english)
        # A line in another form would be on the page but in none of these tests.
        source = (folder / f"{lang}.js").read_text("utf-8")
        assert len(re.findall(r"^  ", source, re.MULTILINE)) == len(found)


@OTHERS
@FOLDERS
def test_a_translation_has_the_values_and_the_code_of_its_text(folder: Path, lang: str) -> None:
    found = texts(lang, folder)
    for key, text in texts("en", folder).items():
        assert sorted(_PLACE.findall(found[key])) == sorted(_PLACE.findall(text)), key


@FOLDERS
@pytest.mark.parametrize("lang", LANGS)
def test_texts_are_in_the_script_of_their_language(folder: Path, lang: str) -> None:
    scripts = language(lang).script
    for key, text in texts(lang, folder).items():
        bare = _NAMES.sub("", _PLACE.sub("", text))
        names = [unicodedata.name(sign) for sign in bare if sign.isalpha()]
        assert names, (key, text)
        assert all(any(script in name for script in scripts) for name in names), (key, text)


@OTHERS
@FOLDERS
def test_no_text_was_left_in_english(folder: Path, lang: str) -> None:
    english = texts("en", folder)
    found = texts(lang, folder)
    same = {key for key, text in found.items() if text.casefold() == english[key].casefold()}
    assert same == ({"live"} if (folder, lang) == (PAGES, "de") else set())


def test_what_pages_ask_for_is_there() -> None:
    known = set(texts("en", PAGES))
    asked = set()
    for name in ("audience", "projector", "obs", "join"):
        page = (DISPLAYS / f"{name}.html").read_text("utf-8")
        asked |= set(re.findall(r'data-(?:word|label)="([^"]+)"', page))
    for name in ("audience", "projector", "overlay", "join"):
        script = (DISPLAYS / f"js/{name}/main.js").read_text("utf-8")
        asked |= set(re.findall(r"\b(?:words\(\w+\)|table)\.(\w+)", script))
    status = (DISPLAYS / "js/shared/status.js").read_text("utf-8")
    tones = status[status.index("TONES = {") : status.index("};")]
    asked |= set(re.findall(r'^  "?([\w-]+)"?: "', tones, re.MULTILINE))
    assert asked <= known
    assert {"no-audio", "settings", "title", "live"} <= asked


def test_all_that_the_page_says_is_marked(page: Marked) -> None:
    assert page.unmarked == []
    assert len(page.said) > 80


def test_what_the_page_says_until_its_script_runs_is_the_english_text(page: Marked) -> None:
    english = texts("en")
    assert page.said == [(key, english[key]) for key, _ in page.said]


def test_each_text_is_used_and_each_that_is_asked_for_is_there(page: Marked) -> None:
    asked = set(page.marks)
    for source in modules().values():
        asked |= set(re.findall(r"\bwording\.(\w+)", source))
    assert asked - {"js"} == set(texts("en"))


def test_the_console_s_modules_have_no_texts_of_their_own() -> None:
    """Three words in a row count as a sentence; so do two if the first has a capital."""
    sentences = re.compile(r"[A-Za-z]+ [a-z]+ [a-z]+|[A-Z][a-z]+ [a-z]+")
    found = []
    for name, source in modules().items():
        code = re.sub(r"^ *(?://|/?\*).*$|(?<=[;{},]) // .*$", "", source, flags=re.MULTILINE)
        for plain, template in _LITERAL.findall(code):
            said = re.sub(r"\$\{[^}]*\}", "", plain or template)
            if sentences.search(said):
                found.append((name, said))
    # Texts that identify the server's messages: word for word, or the page shows them in English.
    server = inspect.getsource(state) + inspect.getsource(degradation)
    assert len(found) == 11
    assert [one for one in found if one[0] != "state" or f'"{one[1]}"' not in server] == []


def test_only_the_console_loads_its_texts() -> None:
    """Phones must not load texts that they do not need."""
    scripts = DISPLAYS / "js"
    importers = {
        path.relative_to(scripts).parts[0]
        for path in scripts.rglob("*.js")
        for other in re.findall(r'(?:from |import\()"(\.[^"]+)"', path.read_text("utf-8"))
        if (path.parent / other).resolve().is_relative_to(CONSOLE.parent)
    }
    assert importers == {"operator"}
