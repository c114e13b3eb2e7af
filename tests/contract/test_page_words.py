"""The pages' words: in every language, each once, and none that a page asks for is missing."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from pipeline.core.languages import language
from tests.support.page_words import LANGS

DISPLAYS = Path(__file__).parents[2] / "displays"
_WORD = re.compile(r'^  "?([\w-]+)"?: "(.+)",$', re.MULTILINE)


def words(lang: str) -> list[tuple[str, str]]:
    return _WORD.findall((DISPLAYS / f"js/words/{lang}.js").read_text("utf-8"))


def test_the_pages_speak_these_languages() -> None:
    text = (DISPLAYS / "js/shared/i18n.js").read_text("utf-8")
    (table,) = re.findall(r"^const TABLE = \{ (.+) \};$", text, re.MULTILINE)
    assert table == ", ".join(f"{lang}: {lang.upper()}" for lang in LANGS)
    assert {path.stem for path in (DISPLAYS / "js/words").iterdir()} == set(LANGS)


@pytest.mark.parametrize("lang", LANGS)
def test_every_language_has_every_word_once(lang: str) -> None:
    found = words(lang)
    assert [key for key, _ in found] == [key for key, _ in words("en")]
    assert len(found) == len(dict(found)) > 30


@pytest.mark.parametrize("lang", LANGS)
def test_words_are_in_the_script_of_their_language(lang: str) -> None:
    scripts = language(lang).script
    for key, word in words(lang):
        shown = re.sub(r"\{\w+\}", "", word)  # the page puts something in its place
        names = [unicodedata.name(sign) for sign in shown if sign.isalpha()]
        assert names, (key, word)
        assert all(any(script in name for script in scripts) for name in names), (key, word)


def test_no_word_was_left_in_english() -> None:
    english = set(words("en"))
    same = {(lang, key) for lang in LANGS[1:] for key, _ in english.intersection(words(lang))}
    assert same == {("de", "live")}


def test_what_pages_ask_for_is_there() -> None:
    known = {key for key, _ in words("en")}
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
