"""Plurals, forms and determiners, for the comparison of words."""

from __future__ import annotations

import re

import pytest

from pipeline.dictionary.inflection import determiners, pattern, plural, swapped
from pipeline.text.words import plain

PLURALS = {
    "es": [
        *(("pacto", "pactos"), ("cruz", "cruces"), ("altar", "altares")),
        *(("salvación", "salvaciones"), ("oración", "oraciones"), ("fariseo", "fariseos")),
        *(("himno", "himnos"), ("ángel", "ángeles"), ("fe", "fes"), ("Pentecostés", "Pentecostés")),
        *(("país", "países"), ("mes", "meses"), ("dios", "dioses"), ("lunes", "lunes")),
        *(("ciprés", "cipreses"), ("Jesús", "Jesús"), ("sumo sacerdote", "")),
    ],
    "fr": [
        *(("alliance", "alliances"), ("croix", "croix"), ("agneau", "agneaux")),
        *(("cheval", "chevaux"), ("foi", "foi"), ("Fils de Dieu", "")),
        *(("chacal", "chacals"), ("vitrail", "vitraux"), ("portail", "portails"), ("pou", "poux")),
        *(("caillou", "cailloux"), ("fou", "fous"), ("pneu", "pneus"), ("cheveu", "cheveux")),
    ],
    "de": [("Bund", "")],
}


@pytest.mark.parametrize(
    ("lang", "one", "many"), [(lang, *word) for lang, words in PLURALS.items() for word in words]
)
def test_plurals_by_rule(lang: str, one: str, many: str) -> None:
    assert plural(one, lang) == many


@pytest.mark.parametrize(
    ("before", "slot", "form", "read"),
    [
        ("Il a rompu ", "l'accord", "alliance", ["Il a rompu l'alliance"]),
        ("Il a rompu ", "l’accord", "pacte", ["Il a rompu le pacte", "Il a rompu la pacte"]),
        ("Il a rompu la ", "promesse", "alliance", ["Il a rompu l'alliance"]),
        ("le sang du ", "contrat", "alliance", ["le sang de l'alliance"]),
        ("le sang de ", "l'accord", "pacte", ["le sang du pacte", "le sang de la pacte"]),
        ("fort de ", "promesse", "alliance", ["fort d'alliance"]),
        ("Cet ", "accord", "foi", ["Ce foi", "Cette foi"]),
        ("", "L'accord", "honte", ["Le honte", "La honte"]),
        ("Jean ", "n'aime", "croit", []),
        ("Jean ", "dort", "prie", ["Jean prie"]),
    ],
)
def test_french_determiners_fit_gender_and_vowel(
    before: str, slot: str, form: str, read: list[str]
) -> None:
    text = before + slot
    ways = determiners(text, len(before), form, "fr")
    assert [text[:begins] + new + form for begins, new in ways] == read


FORMS = {
    "es": [
        *(("pacto", "pactos", True), ("pecado", "pecador", False), ("justo", "justas", True)),
        *(("cruz", "cruces", True), ("Dios", "dio", False), ("fe", "fea", False)),
        *(("bautiz*", "bautizamos", True), ("bautiz*", "bautismo", False)),
        ("el Cristo, el Ungido", "el cristo el ungido", True),
        *(("Espíritu Santo", "espiritu santo", True), ("salvación", "salvaciones", True)),
    ],
    "fr": [
        *(("alliance", "alliances", True), ("saint", "saintes", True), ("foi", "fois", False)),
        *(("racheté", "rachetées", True), ("agneau", "agneaux", True), ("loi", "lois", True)),
        *(("péché", "pécheur", False), ("Saint-Esprit", "saint esprit", True)),
        *(("Fils de l'homme", "fils de l' homme", True), ("spirituel", "spirituels", True)),
    ],
}


@pytest.mark.parametrize(
    ("lang", "rendering", "text", "is_it"),
    [(lang, *form) for lang, forms in FORMS.items() for form in forms],
)
def test_all_forms_of_a_word_are_one(lang: str, rendering: str, text: str, is_it: bool) -> None:
    assert bool(re.fullmatch(pattern(rendering, lang), plain(text))) is is_it


def test_an_article_has_its_other_gender() -> None:
    assert swapped("y el ", "es") == ("el", "la")
    assert swapped("La ", "es") == ("La", "El")
    assert swapped("parte de la ", "es") == ("la", "el")
    assert swapped("Dios ", "es") is None
    assert swapped("el ", "de") is None
