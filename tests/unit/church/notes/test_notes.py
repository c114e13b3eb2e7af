"""What is extracted from a preacher's notes, and the file where people correct it."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.church.notes.notes import (
    MOST_ENTRIES,
    Notes,
    draw,
    joined,
    parse,
    references,
    renderings,
    without,
    written,
)
from pipeline.church.scripture.books import Reference
from pipeline.core.errors import NotesError

SERMON = """The Fiery Furnace

Welcome, everyone. Today we read in Daniel 3:16-18 what Shadrach, Meshach and Abednego said
to Nebuchadnezzar's face. Our God is able. In 1943 Corrie ten Boom was in Ravensbrück; she had
learned it from Romans 8:28. "Bonhoeffer wrote of the cost," says Eric.
Nebuchadnezzar had 1,000 lords and 12 satraps. Hope is a word that we use: the hope of Easter.
"""


def test_names_verses_and_numbers_are_drawn_out_in_their_order() -> None:
    notes = draw(SERMON, "en")
    assert notes.verses == ("Daniel 3:16-18", "Romans 8:28")
    assert notes.numbers == ("1943", "1,000")
    assert notes.names == (
        *("Fiery", "Furnace", "Shadrach", "Meshach", "Abednego", "Nebuchadnezzar"),
        *("Corrie", "Boom", "Ravensbrück", "Eric"),
    )
    assert {"furnace", "hope", "satraps"} & notes.words == {"hope", "satraps"}


def test_a_known_name_counts_at_the_beginning_of_a_line_too() -> None:
    text = "Zacchaeus\n\nBartimaeus's watch. Therefore we wait.\nGrace is free, and grace is good."
    known = {"Zacchaeus", "Bartimaeus", "Grace"}
    assert draw(text, "en", known).names == ("Zacchaeus", "Bartimaeus")
    assert draw(text, "en").names == ()


def test_the_number_of_a_psalm_is_no_number_of_its_own() -> None:
    notes = draw("We read Psalm 121 before 121 people.", "en")
    assert (notes.verses, notes.numbers) == (("Psalm 121",), ("121",))
    assert draw("We read Psalm 121.", "en").numbers == ()


def test_what_stands_small_elsewhere_and_what_everybody_knows_is_no_name() -> None:
    notes = draw(
        "We say Grace at table. By grace are we saved, by Jesus, on Sunday. See John.", "en"
    )
    assert notes.names == ()


def test_where_every_noun_has_a_capital_only_known_names_are_names() -> None:
    """German notes once made "Versammlung" of each "Versammlungen" that was heard."""
    text = "Heute dient Bonhoeffer der Versammlung. Dort predigt Okafor die Gerechtigkeit."
    assert draw(text, "de", {"Okafor"}).names == ("Okafor",)
    assert draw(text, "nl").names == ("Bonhoeffer", "Versammlung", "Okafor", "Gerechtigkeit")


def test_what_people_have_corrected_is_read_back() -> None:
    notes = draw(SERMON, "en")
    content = written(notes, "sermon.docx")
    assert content.startswith("# Drawn out of sermon.docx")
    assert parse(content, "notes.toml") == notes
    corrected = parse(
        content.replace('    "Boom",\n', '    "Boom",\n    "Betsie",\n'), "notes.toml"
    )
    assert "Betsie" in corrected.names


@pytest.mark.slow
@given(st.lists(st.text(min_size=1).filter(str.strip)))
@example(["a\x08b", "c\x7f"])
def test_every_name_survives_its_file(names: list[str]) -> None:
    notes = Notes(names=tuple(names))
    assert parse(written(notes, "x"), "x") == notes


@pytest.mark.slow
@given(st.text())
def test_notes_of_any_kind_are_read(text: str) -> None:
    notes = draw(text, "en")
    assert parse(written(notes, "x"), "x") == notes


@pytest.mark.parametrize(
    "content",
    [
        "names = [",
        'names = "one"',
        "verses = 3",
        "names = [1]",
        'verses = [""]',
        "x = 1" + "0" * 4999,
    ],
    ids=lambda content: content[:12],
)
def test_a_file_with_a_mistake_is_named(content: str) -> None:
    with pytest.raises(NotesError, match=r"notes\.toml.*notes-broken"):
        parse(content, "notes.toml")


def test_several_notes_add_up_and_their_verses_are_references() -> None:
    both = joined(
        [draw(SERMON, "en"), Notes(names=("Eric", "Betsie"), verses=("Isaiah 43:2", "x"))]
    )
    assert both.names[-2:] == ("Eric", "Betsie")
    assert references(both, "en") == (
        Reference(27, 3, 16, 18),
        Reference(45, 8, 28),
        Reference(23, 43, 2),
    )


def test_a_line_may_say_how_a_word_is_translated() -> None:
    text = (
        "covenant = pacto\n- mercy seat → propiciatorio;\nkinsman redeemer -> pariente redentor\n"
        "2 + 2 = 4\nGrace = unmerited favor\nsin = missing the mark\n"
        "God = love that never ends and never fails us at all\n= nothing\nx\n"
    )
    notes = draw(text, "en")
    assert notes.terms == (
        "covenant = pacto",
        "mercy seat = propiciatorio",
        "kinsman redeemer = pariente redentor",
    )
    assert renderings(notes)[1] == ("mercy seat", "propiciatorio")
    assert parse(written(notes, "x"), "x") == notes
    assert renderings(Notes(terms=("covenant", "= pacto", "pacto ="))) == ()
    assert joined([notes, notes]).terms == notes.terms


def test_an_entry_is_taken_out_of_every_list() -> None:
    notes = Notes(("Ruth", "1945"), ("Ruth 1:16",), ("1945",), words=frozenset({"hope"}))
    assert without(notes, "1945") == replace(notes, names=("Ruth",), numbers=())
    assert without(notes, "Jonah") == notes


@pytest.mark.parametrize("text", ["a\n" + " " * 20_000, "=" * 20_000, ' "' * 10_000, "1," * 10_000])
def test_a_line_without_words_is_read_in_no_time(text: str) -> None:
    began_s = time.thread_time()
    draw(text, "en")
    assert time.thread_time() - began_s < 1, "it took minutes in the square of the length"


def test_a_list_is_not_taken_for_a_sermon() -> None:
    lines = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)} = palabra, {1000 + n}" for n in range(600)]
    verses = [f"Psalm {chapter}:{verse}" for chapter in range(1, 151) for verse in range(1, 5)]
    notes = draw("\n".join([*lines, *verses]).replace("palabra,", "palabra\n"), "en")
    assert {len(notes.terms), len(notes.verses), len(notes.numbers)} == {MOST_ENTRIES}
