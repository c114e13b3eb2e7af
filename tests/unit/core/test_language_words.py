"""languages/CODE.toml: what church truth, the glossary and inflection know of a language."""

from __future__ import annotations

import re

import pytest

from pipeline.core.language_words import WORDS, read_words
from pipeline.core.languages import LANGUAGES
from pipeline.text.words import plain


def test_every_file_is_of_a_language_that_has_a_name() -> None:
    assert set(WORDS) >= {"en", "es", "fr"}
    assert set(WORDS) <= set(LANGUAGES)


@pytest.mark.parametrize("lang", WORDS)
def test_words_are_written_as_they_are_compared(lang: str) -> None:
    """A word with a capital or an accent would never be found."""
    numbers, quantities = WORDS[lang].numbers, WORDS[lang].quantities
    references = WORDS[lang].references
    assert numbers
    assert quantities
    assert references
    found = {*numbers.small, *numbers.tens, *numbers.hundreds, *numbers.ordinals, *numbers.scales}
    found |= {word for phrase in (*numbers.phrases, *numbers.ordinal_phrases) for word in phrase}
    found |= quantities.unsure | frozenset[str]().union(*quantities.meaning.values())
    lists = references.model_dump().values()
    found |= frozenset[str]().union(*(each for each in lists if isinstance(each, frozenset)))
    assert {word for word in found if word != plain(word)} <= {"au", "à"}


@pytest.mark.parametrize("lang", WORDS)
def test_every_number_below_a_hundred_can_be_said(lang: str) -> None:
    numbers = WORDS[lang].numbers
    assert numbers
    values = set(numbers.phrases.values()) or {*numbers.small.values(), *numbers.tens.values()}
    assert values >= {*range(20), *range(20, 100, 10)}


def test_a_mistake_in_a_file_names_its_key() -> None:
    with pytest.raises(ValueError, match=r"books\.names\n.*at least 66 items"):
        read_words('[books]\nnames = ["Genesis"]\nordinals = ["first", "second", "third"]')
    with pytest.raises(ValueError, match=r"negation\.sure\n.*not permitted"):
        read_words('[negation]\nstrong = ["no"]\nany = ["no"]\nsure = ["no"]')
    assert read_words("").books is None


def test_parts_of_expressions_are_put_in_the_place_of_their_names() -> None:
    text = """
        [negation]
        strong = ['{not_a_step}pas\\b', '{ne}']
        any = ["no"]
        [negation.parts]
        ne = "ne "
        not_a_step = ["un"]
    """
    negation = read_words(text).negation
    assert negation
    assert negation.strong == re.compile(r"(?<!\bun )pas\b|ne ", re.IGNORECASE)


def test_one_expression_of_negation_needs_no_list() -> None:
    negation = read_words("[negation]\nstrong = '\\bkhông\\b'\nany = ['\\bkhông\\b']").negation
    assert negation
    assert negation.strong.search("tôi không đi")
    assert not negation.strong.search("hông")
