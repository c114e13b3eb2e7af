"""How rules are applied to a text."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.types import Correction
from tests.support.corrections import corrected, lexicon

PROPHET = """
[[rule]]
hear = ["profit", "prof it"]
write = "prophet"
near = ["isaiah", "#"]
not_near = ["company"]
within_words = 3

[[rule]]
hear = ["eyes aya", "eye zaya"]
write = "Isaiah"

[[rule]]
hear = "holy goat"
write = "Holy Ghost"

[[rule]]
hear = "thrown of grace"
write = "throne of grace"

[[rule]]
hear = "thrown of grace and mercy"
write = "throne of mercy"
"""

PIECES = [
    "profit", "Profits", "profit's", "eyes aya", "Eye-zaya’s", "HOLY GOAT", "company", "7",
    "thrown of grace", "and mercy", "the", "isaiah", "¿qué?", "ﬁn", "İ", "ß_", "'", "-",
]  # fmt: skip


def said(text: str, *files: str) -> str:
    return corrected(lexicon(*(files or (PROPHET,))), text).text


def test_a_phrase_is_replaced_recorded_and_the_raw_text_kept() -> None:
    result = corrected(lexicon(PROPHET), "Come, holy goat, to the thrown of grace!")
    assert result.text == "Come, Holy Ghost, to the throne of grace!"
    assert result.raw_text == "Come, holy goat, to the thrown of grace!"
    assert result.corrections == (
        Correction("holy-ghost", "holy goat", "Holy Ghost", 6),
        Correction("throne-of-grace", "thrown of grace", "throne of grace", 24),
    )


@pytest.mark.parametrize(
    "text", ["", " ", "unholy goat", "holy goatee", "holy. Goat", "holy, goat"]
)
def test_only_whole_words_in_one_breath_match(text: str) -> None:
    assert corrected(lexicon(PROPHET), text).corrections == ()
    assert said(text) == text


@pytest.mark.parametrize(
    "text", ["holy-goat", "holy  goat", "holy\ngoat", "HOLY GOAT", "Holy goat"]
)
def test_blanks_hyphens_and_case_do_not_hide_a_phrase(text: str) -> None:
    assert said(text) == "Holy Ghost"


@pytest.mark.parametrize(
    ("heard", "write", "text", "written"),
    [
        ("牧这", "牧者", "耶和华是我的牧这，我必不缺乏。", "耶和华是我的牧者，我必不缺乏。"),
        ("พระเจา", "พระเจ้า", "ขอพระเจาอวยพร", "ขอพระเจ้าอวยพร"),
        ("牧这", "牧者", "牧，这", "牧，这"),
    ],
)
def test_a_phrase_without_spaces_is_found_among_its_neighbours(
    heard: str, write: str, text: str, written: str
) -> None:
    rule = f'rule = [{{ hear = "{heard}", write = "{write}" }}]'
    assert said(text, rule) == written


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_typed_as_signs_of_their_own_are_those_that_are_heard(
    form: Literal["NFC", "NFD"],
) -> None:
    """Some editors on macOS save accents as separate characters."""
    rule = '[[rule]]\nhear = "el gé nesis"\nwrite = "Génesis"\nnear = "capítulo"\n'
    heard = "leemos el gé nesis capítulo uno"
    file = unicodedata.normalize(form, rule)
    for text in (heard, unicodedata.normalize("NFD", heard)):
        assert len(corrected(lexicon(file), text).corrections) == 1


def test_a_closing_apostrophe_does_not_part_the_words() -> None:
    rule = '[[rule]]\nhear = "in jesus name a man"\nwrite = "in Jesus\' name, amen"'
    assert said("in Jesus' name a man.", rule) == "in Jesus' name, amen."


@pytest.mark.parametrize(
    ("found", "written"),
    [
        ("thrown of grace", "throne of grace"),
        ("Thrown of grace", "Throne of grace"),
        ("Thrown Of Grace", "Throne of grace"),
        ("THROWN OF GRACE", "THRONE OF GRACE"),
        ("EYES AYA", "Isaiah"),
        ("eyes aya", "Isaiah"),
    ],
)
def test_case_is_kept_but_a_name_is_written_as_the_rule_says(found: str, written: str) -> None:
    assert said(f"the {found}.") == f"the {written}."


def test_a_name_inside_a_phrase_keeps_its_capital_among_capitals() -> None:
    rule = '[[rule]]\nhear = "prophet of guard"\nwrite = "prophet of God"'
    assert said("A PROPHET OF GUARD", rule) == "A PROPHET OF God"
    assert said("Prophet of guard", rule) == "Prophet of God"


def test_one_capital_letter_is_not_all_capitals() -> None:
    assert said("X libris", '[[rule]]\nhear = "x"\nwrite = "ex"') == "Ex libris"


@pytest.mark.parametrize(
    ("found", "written"),
    [
        ("the profit's word, Isaiah", "the prophet's word, Isaiah"),
        ("the profit’s word, Isaiah", "the prophet’s word, Isaiah"),
        ("the profits Isaiah knew", "the prophets Isaiah knew"),
        ("the profits' word, Isaiah", "the prophets' word, Isaiah"),
        ("PROFITS like Isaiah", "PROPHETS like Isaiah"),
        ("eyes aya's lips", "Isaiah's lips"),
        ("two holy goats", "two holy goats"),  # a name has no plural
    ],
)
def test_possessives_and_plurals_carry_over(found: str, written: str) -> None:
    assert said(found) == written


@pytest.mark.parametrize(
    ("heard", "write", "text", "written"),
    [
        ("in equity", "iniquity", "our in equities", "our iniquities"),
        ("pair a dish", "parish", "two pair a dishes", "two parishes"),
        ("alter day", "altar day", "alter days", "altar days"),
        ("sanctions", "sanctification", "sanctionss sanctions", "sanctionss sanctification"),
        ("right use", "righteousness", "right uses", "right uses"),
        ("soul's", "sole", "soul's", "sole"),
    ],
)
def test_plurals_follow_the_spelling(heard: str, write: str, text: str, written: str) -> None:
    assert said(text, f'[[rule]]\nhear = "{heard}"\nwrite = "{write}"') == written


def test_a_phrase_spelled_out_goes_before_a_derived_plural() -> None:
    rules = '[[rule]]\nhear = "tear"\nwrite = "tare"\n[[rule]]\nhear = "tears"\nwrite = "weeds"'
    assert said("a tear, two tears, the tear's end", rules) == "a tare, two weeds, the tare's end"


def test_the_longest_phrase_wins() -> None:
    assert said("the thrown of grace and mercy") == "the throne of mercy"
    assert said("the thrown of grace and power") == "the throne of grace and power"


def test_a_longer_phrase_out_of_context_leaves_room_for_a_shorter() -> None:
    rules = """
    [[rule]]
    hear = "first king's"
    write = "First Kings"
    near = "chapter"
    [[rule]]
    hear = "first"
    write = "1st"
    """
    assert said("first king's chapter", rules) == "First Kings chapter"
    assert said("first king's crown", rules) == "1st king's crown"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Isaiah the profit", "Isaiah the prophet"),
        ("the profit called Isaiah", "the prophet called Isaiah"),
        ("Isaiah's profit", "Isaiah's prophet"),
        ("profit Isaiah", "prophet Isaiah"),
        ("profit one two Isaiah", "prophet one two Isaiah"),
        ("profit one two three Isaiah", "profit one two three Isaiah"),
        ("Isaiah one two three profit", "Isaiah one two three profit"),
        ("profit 12 or so", "prophet 12 or so"),
        ("profit of the company Isaiah", "profit of the company Isaiah"),
        ("companies profit Isaiah", "companies profit Isaiah"),
        ("a profit", "a profit"),
    ],
)
def test_context_decides(text: str, written: str) -> None:
    assert said(text) == written


def test_a_corrected_word_is_context_for_its_neighbours() -> None:
    result = corrected(lexicon(PROPHET), "the prof it eyes aya said")
    assert result.text == "the prophet Isaiah said"
    assert [fix.rule for fix in result.corrections] == ["prophet", "isaiah"]


def test_distance_is_counted_in_corrected_words() -> None:
    near = '[[rule]]\nhear = "profit"\nwrite = "prophet"\nnear = "grace"\nwithin_words = 3\n'
    shorter = '[[rule]]\nhear = "our thrown of"\nwrite = "our"'
    assert said("profit of our thrown of grace", near) == "profit of our thrown of grace"
    assert said("profit of our thrown of grace", near, shorter) == "prophet of our grace"


def test_a_word_that_a_correction_removes_does_not_forbid() -> None:
    rules = """
    [[rule]]
    hear = "goat"
    write = "Ghost"
    not_near = "row"
    [[rule]]
    hear = "row mans"
    write = "Romans"
    """
    assert said("goat and row mans", rules) == "Ghost and Romans"


def test_no_rule_applies_to_what_another_wrote() -> None:
    rules = '[[rule]]\nhear = "one"\nwrite = "two"\n[[rule]]\nhear = "two"\nwrite = "three"'
    assert said("one two", rules) == "two three"


def test_an_accepted_phrase_is_never_cut_by_another() -> None:
    rules = """
    [[rule]]
    hear = "a b"
    write = "ab"
    near = "isaiah"
    [[rule]]
    hear = "b c"
    write = "bc"
    [[rule]]
    hear = "eyes aya"
    write = "Isaiah"
    """
    assert said("a b c eyes aya", rules) == "a bc Isaiah"


def test_the_later_file_wins_on_the_same_phrase() -> None:
    church = '[[rule]]\nid = "ours"\nhear = "Holy Goat"\nwrite = "Holy Goat Inn"'
    result = corrected(lexicon(PROPHET, church), "the holy goat and the holy goat's door")
    assert result.text == "the Holy Goat Inn and the Holy Goat Inn's door"
    assert {fix.rule for fix in result.corrections} == {"ours"}


def test_writing_what_is_heard_switches_a_rule_off() -> None:
    off = '[[rule]]\nhear = "holy goat"\nwrite = "holy goat"'
    for text in ("the holy goat", "the Holy goat", "THE HOLY GOAT"):
        assert corrected(lexicon(PROPHET, off), text).text == text
        assert corrected(lexicon(PROPHET, off), text).corrections == ()


def test_a_listed_name_changes_no_word_that_is_the_same() -> None:
    """A member called Hope once gave "we Hope" in every caption, and Grace was not translated."""
    names = lexicon('names = ["Hope", "Will", "Grace Okafor"]')
    for text in ("We will hope.", "WILL you?", "Hope's grace", "the grace okafor's"):
        assert corrected(names, text).text == text
    assert names.hotwords(9) == "Hope, Will, Grace Okafor"


def test_hotwords_are_the_marked_terms_the_church_first() -> None:
    shipped = """
    [[rule]]
    hear = "x"
    write = "Golgotha"
    hotword = true
    [[rule]]
    hear = "y"
    write = "altar"
    [[rule]]
    hear = "z"
    write = "Patmos"
    hotword = true
    """
    church = '[[rule]]\nhear = "q"\nwrite = "Oyelaran"\nhotword = true'
    repeated = church + '\n[[rule]]\nid = "again"\nhear = "w"\nwrite = "Golgotha"\nhotword = true'
    assert lexicon(shipped).hotwords(9) == "Golgotha, Patmos"
    assert lexicon(shipped, church).hotwords(2) == "Oyelaran, Golgotha"
    assert lexicon(shipped, repeated).hotwords(9) == "Oyelaran, Golgotha, Patmos"
    assert lexicon(shipped).hotwords(0) == ""


@given(
    st.lists(st.sampled_from(PIECES)),
    st.sampled_from([" ", ", ", "  ", "-"]),
)
def test_offsets_point_at_what_was_found(pieces: list[str], joint: str) -> None:
    result = corrected(lexicon(PROPHET), joint.join(pieces))
    rebuilt, done = "", 0
    for fix in result.corrections:
        assert fix.start >= done
        assert result.raw_text[fix.start : fix.start + len(fix.found)] == fix.found
        assert fix.found != fix.replacement
        rebuilt += result.raw_text[done : fix.start] + fix.replacement
        done = fix.start + len(fix.found)
    assert rebuilt + result.raw_text[done:] == result.text
