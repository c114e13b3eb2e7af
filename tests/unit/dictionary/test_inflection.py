"""Plurals, forms and determiners, as comparing words needs them."""

from __future__ import annotations

import re

import pytest

from pipeline.dictionary.inflection import pattern, plural, swapped
from pipeline.text.words import plain


@pytest.mark.parametrize(
    ("one", "many"),
    [
        *(("pacto", "pactos"), ("cruz", "cruces"), ("altar", "altares")),
        *(("salvación", "salvaciones"), ("oración", "oraciones"), ("fariseo", "fariseos")),
        *(("himno", "himnos"), ("ángel", "ángeles"), ("fe", "fes"), ("Pentecostés", "Pentecostés")),
        ("sumo sacerdote", ""),
    ],
)
def test_spanish_plurals(one: str, many: str) -> None:
    assert plural(one, "es") == many


def test_another_language_has_no_plurals_by_rule() -> None:
    assert plural("Bund", "de") == ""


@pytest.mark.parametrize(
    ("rendering", "text", "is_it"),
    [
        *(("pacto", "pactos", True), ("pecado", "pecador", False), ("justo", "justas", True)),
        *(("cruz", "cruces", True), ("Dios", "dio", False), ("fe", "fea", False)),
        *(("bautiz*", "bautizamos", True), ("bautiz*", "bautismo", False)),
        *(("Espíritu Santo", "espiritu santo", True), ("salvación", "salvaciones", True)),
    ],
)
def test_all_forms_of_a_word_are_one(rendering: str, text: str, is_it: bool) -> None:
    assert bool(re.fullmatch(pattern(rendering, "es"), plain(text))) is is_it


def test_an_article_has_its_other_gender() -> None:
    assert swapped("y el ", "es") == ("el", "la")
    assert swapped("La ", "es") == ("La", "El")
    assert swapped("parte de la ", "es") == ("la", "el")
    assert swapped("Dios ", "es") is None
    assert swapped("el ", "de") is None
