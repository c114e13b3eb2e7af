"""The glossary's entries, found in the spoken text and in the shown translation."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipeline.core.errors import DictionaryError
from pipeline.core.resources import bundled
from pipeline.dictionary.glossary import (
    Glossary,
    compile_glossary,
    make_term,
    parse_terms,
    shown,
)
from pipeline.dictionary.rules import appended, without

SHIPPED = {lang: bundled("dictionary", "glossary", f"en-{lang}.toml") for lang in ("es", "fr")}


def glossary(*texts: str) -> Glossary:
    terms = [term for number, text in enumerate(texts) for term in parse_terms(text, f"{number}")]
    return compile_glossary(tuple(terms), "es")


COVENANT = """
term = [
  { say = "covenant", write = "pacto", also = "alianza" },
  { say = "new covenant", write = "nuevo pacto" },
  { say = "grace", write = "gracia", name = true },
  { say = "anointed", write = ["ungido", "ungió"], also = "ung*", not_near = ["oil"] },
  { say = "high priest", write = "sumo sacerdote", plural = "sumos sacerdotes" },
  { say = "mercy seat", write = "propiciatorio" },
]
"""


def said(text: str, *files: str) -> list[tuple[str, tuple[str, ...]]]:
    found = glossary(*(files or (COVENANT,))).find(text)
    assert all(text[term.start : term.end].casefold()[:3] == term.term[:3] for term in found)
    return [(term.term, term.forms) for term in found]


def test_the_longest_terms_are_found_in_every_number_once_and_not_in_another_sense() -> None:
    assert said("The covenants, and the covenant's end.") == [("covenant", ("pactos",))]
    assert said("A new covenant.") == [("new covenant", ("nuevo pacto",))]
    assert said("High priests offered.") == [("high priest", ("sumos sacerdotes",))]
    assert said("Two mercy seats.") == [("mercy seat", ("propiciatorios",))]
    assert said("He anointed him.") == [("anointed", ("ungido", "ungió"))]
    assert said("They anointed it with oil.") == []


def test_a_name_is_no_church_word() -> None:
    assert said("Yesterday Grace came.") == []
    assert said("Grace came. Grace is free.") == [("grace", ("gracia",))]
    assert said("By grace alone.") == [("grace", ("gracia",))]


def test_a_later_files_entry_wins() -> None:
    own = 'term = [{ say = "covenant", write = "alianza" }]'
    assert said("The covenant.", COVENANT, own) == [("covenant", ("alianza",))]
    assert said("A new covenant.", COVENANT, own) == [("new covenant", ("nuevo pacto",))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("Hizo pactos.", "pactos"), ("¡Pacto!", "Pacto"), ("La ALIANZA eterna", "ALIANZA")),
        *(("El impacto.", None), ("", None)),
    ],
)
def test_a_rendering_is_found_in_all_its_forms(text: str, found: str | None) -> None:
    (term,) = glossary(COVENANT).find("the covenant")
    place = shown(text, term)
    assert (text[slice(*place)] if place else None) == found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("term = [", "dictionary-not-toml"),
        ("term = [1]", "dictionary-wrong-type"),
        ('term = [{ say = "a" }]', "dictionary-missing-key"),
        ('term = [{ write = "a" }]', "dictionary-missing-key"),
        ('term = [{ say = "a", write = "..." }]', "dictionary-empty-phrase"),
        ('term = [{ say = "a", wriet = "b" }]', "dictionary-unknown-key"),
        ('term = [{ say = "a", write = "b", name = 1 }]', "dictionary-wrong-type"),
        ('term = [{ say = "a", write = "b", within_words = 0 }]', "dictionary-out-of-range"),
        ('term = [{ say = ["a", "A"], write = "b" }]', "dictionary-duplicate-phrase"),
        ('term = [{ say = "a", write = "b", near = ["@x"] }]', "dictionary-unknown-list"),
    ],
)
def test_a_broken_file_is_explained(text: str, code: str) -> None:
    with pytest.raises(DictionaryError) as raised:
        parse_terms(text, "church.toml")
    assert raised.value.code == code
    assert "church.toml" in raised.value.message


def test_an_entry_of_which_anything_is_right_asks_for_nothing() -> None:
    own = 'term = [{ say = "covenant", write = "pacto", also = "*" }]'
    assert glossary(COVENANT, own).find("the covenant") == ()


@pytest.mark.parametrize(
    ("lang", "before", "write", "after"),
    [
        ("zh", "这是新的", "盟约", "。"),
        ("ja", "主の", "バプテスマ", "を受けた。"),  # its sounding marks are accents for `plain`
        ("th", "พระเจ้าทรงเป็น", "ผู้เลี้ยง", "ของข้าพเจ้า"),
    ],
)
def test_a_rendering_without_spaces_is_found(
    lang: str, before: str, write: str, after: str
) -> None:
    terms = parse_terms(f'term = [{{ say = "covenant", write = "{write}" }}]', lang)
    (term,) = compile_glossary(terms, lang).find("the covenant")
    assert shown(before + write + after, term) == (len(before), len(before + write))


def test_an_operators_entry_is_read_back() -> None:
    term = make_term('the "Yoke" Room', "Sala Yugo")
    values = {"say": term.say, "write": term.write}
    content, text = appended("", "term", values, datetime(2026, 11, 30, tzinfo=UTC))
    (read,) = parse_terms(content, "church.toml")
    assert without(content, text, "church.toml") == ""
    assert (read.say, read.write) == (term.say, term.write)
    with pytest.raises(DictionaryError):
        make_term("...", "x")


def test_french_has_an_entry_for_whatever_spanish_has() -> None:
    spanish, french = (
        parse_terms(file.read_text(encoding="utf-8"), lang) for lang, file in SHIPPED.items()
    )
    assert [(t.say, t.near, t.not_near, t.name) for t in french] == [
        (t.say, t.near, t.not_near, t.name) for t in spanish
    ]


@pytest.mark.parametrize(
    ("said", "text", "found"),
    [
        ("the covenant", "L’Alliance éternelle", "Alliance"),
        ("the Holy Spirit", "plein du Saint-Esprit", "Saint-Esprit"),
        ("the Son of Man", "le Fils de l'homme", "Fils de l'homme"),
        ("faith", "Il était une fois.", None),
        ("prayer", "Le prix de la prison.", None),
    ],
)
def test_french_renderings_are_found_behind_articles(
    said: str, text: str, found: str | None
) -> None:
    terms = parse_terms(SHIPPED["fr"].read_text(encoding="utf-8"), "fr")
    (term,) = compile_glossary(terms, "fr").find(said)
    place = shown(text, term)
    assert (text[slice(*place)] if place else None) == found


@pytest.mark.slow
@pytest.mark.parametrize("lang", SHIPPED)
def test_the_shipped_entries_are_many_and_can_be_read(lang: str) -> None:
    terms = parse_terms(SHIPPED[lang].read_text(encoding="utf-8"), lang)
    assert len(terms) >= 230
    compiled = compile_glossary(terms, lang)
    assert len(compiled.terms) == len(terms)
    assert sum(term.also == ("*",) for term in terms) == 1
    for term in terms:  # the written form always counts as the rendering
        if term.also == ("*",):
            continue
        asked = compiled.find(f"{' '.join(sorted(term.near)[:1])} {term.say[0]}")
        (wanted,) = [found for found in asked if found.term == term.id]
        assert all(shown(form, wanted) for form in (*term.write, *term.plural)), term.id
        assert all(shown(form, wanted) for form in wanted.forms), term.id


@pytest.mark.parametrize(
    ("said", "text", "is_right"),
    [
        ("Karen Shepherd came.", "Karen Shepherd vino.", True),
        ("Grace, come in.", "Grace, entra.", True),
        ("The shepherd came.", "El shepherd vino.", False),
        ("Circumcision matters.", "La Circumcision importa.", False),
        ("They went to Corinth.", "Fueron a Corinth.", False),
    ],
)
def test_a_name_may_stay_as_it_was_said(said: str, text: str, is_right: bool) -> None:
    terms = parse_terms(SHIPPED["es"].read_text(encoding="utf-8"), "es")
    wanted = compile_glossary(terms, "es").find(said)
    assert all(shown(text, each) for each in wanted) is is_right
