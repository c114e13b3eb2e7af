"""What no display may show (control tokens, another script or language), and what it must show."""

from __future__ import annotations

import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.languages import LANGUAGES
from pipeline.core.resources import bundled
from pipeline.text.language_check import LEAST, WINDOW, OutputLanguage, gibberish
from pipeline.text.words import words

KNOWN = [code for code, each in LANGUAGES.items() if each.common]
WITH_TEXT = [code for code in KNOWN if LANGUAGES[code].examples]


@pytest.mark.parametrize(
    ("text", "lang", "why"),
    [
        ("", "es", "empty"),
        (" \n", "es", "empty"),
        ("<|endoftext|>", "en", "control-tokens"),
        ("Amén<end_of_turn>\nuser", "es", "control-tokens"),
        ("Dios es amor</s></s>", "es", "control-tokens"),
        ("▁Dios ▁es", "es", "control-tokens"),
        ("<pad> <pad>", "es", "control-tokens"),
        ("<unused12>", "es", "control-tokens"),
        ("Dios<0xE2>", "es", "control-tokens"),
        ("神はその独り子を", "es", "wrong-script"),
        ("God so loved the world", "ru", "wrong-script"),
    ],
)
def test_what_nobody_may_read(text: str, lang: str, why: str) -> None:
    assert gibberish(text, lang) == why


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("3:16", "es"),
        ("La palabra griega es λόγος, que quiere decir palabra", "es"),
        ("1.ª carta a los Corintios, n.º 13", "es"),
        ("a < b y <b>", "es"),
        ("[Música]", "es"),
        ("Ибо так возлюбил Бог мир", "ru"),
        ("神はその独り子をお与えになった", "ja"),
        ("하나님이 세상을 이처럼 사랑하사", "ko"),
        ("神爱世人", "zh"),
        ("whatever this is в языке", "xx"),
    ],
)
def test_what_must_be_shown(text: str, lang: str) -> None:
    assert gibberish(text, lang) == ""


@given(st.text(alphabet="abcdefghijklmnñopqrstuvwxyzáéíóúü ,.¡!¿?'-0123456789", min_size=1))
def test_no_spanish_is_gibberish(text: str) -> None:
    assert gibberish(text, "es") in ("", "empty")


def told(lang: str, texts: list[str]) -> list[str]:
    watch = OutputLanguage(lang)
    return [found for text in texts if (found := watch.take(text))]


def verses(name: str) -> list[str]:
    """Return every eightieth verse of all books."""
    with lzma.open(bundled("verses", name), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t")[-1] for line in lines][1::80]


@pytest.mark.parametrize("lang", WITH_TEXT)
def test_sentences_of_a_language_are_told_from_every_other(lang: str) -> None:
    examples = list(LANGUAGES[lang].examples)
    for asked in KNOWN:
        assert told(asked, examples) == ([] if asked == lang else [lang]), asked


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lang"), [("rv1909.tsv.xz", "es"), ("nheb.tsv.xz", "en")])
def test_verses_of_a_whole_bible_raise_no_alarm_and_always_one_where_another_is_asked(
    name: str, lang: str
) -> None:
    every = verses(name)
    assert len(every) > 300
    assert told(lang, every) == []
    for asked in ("pt", "fr"):
        assert told(asked, every) == [lang]


def test_it_is_told_once_and_again_after_it_was_right_for_a_while() -> None:
    spanish, portuguese = (list(LANGUAGES[code].examples) for code in ("es", "pt"))
    watch = OutputLanguage("es")
    seen = [watch.take(text) for text in (spanish * 2 + portuguese * 2) * 2]
    assert [found for found in seen if found] == ["pt", "pt"]


def test_a_few_words_and_a_quotation_are_no_reason() -> None:
    assert told("es", ["Thank you for the grace that you have given us."]) == []
    hymn = ["Ein feste Burg ist unser Gott, ein gute Wehr und Waffen."]
    examples = list(LANGUAGES["es"].examples)
    assert len(words(hymn[0])) < LEAST / 2
    assert told("es", [*examples, *hymn, *examples]) == []


@pytest.mark.parametrize("lang", ["ko", "zh", "qaa", "gl"])
def test_of_a_language_whose_little_words_are_not_known_nothing_is_said(lang: str) -> None:
    assert told(lang, list(LANGUAGES["en"].examples) * 2) == []


def test_little_words_are_as_texts_are_compared() -> None:
    for code in KNOWN:
        common = LANGUAGES[code].common
        assert len(common) >= 60
        assert {word for word in common if words(word) != [word]} == set(), code
    assert LEAST < WINDOW
