"""What counts as taken back, and from when on a word is stable."""

from __future__ import annotations

import pytest

from scripts.bench.sightings import (
    Erasure,
    Painted,
    at_the_glass,
    committed,
    diagonal_lags_s,
    erasure,
    full,
    histories,
    standing,
)
from tests.support.sightings import history

GROWN = history(
    (2.0, "la gracia", 0, "marian", False),
    (3.0, "la gracia de Dios", 9, "marian", False),
    (4.5, "la gracia del Señor", 9, "marian", False),
    (5.0, "por gracia del Señor", 0, "gemma", True),
)


def test_what_the_final_takes_back_is_told_apart_from_what_partials_take_back() -> None:
    assert erasure([GROWN], full) == Erasure(partial=2, final=4, reopened=0, of=4)
    assert erasure([GROWN], committed) == Erasure(partial=0, final=2, reopened=0, of=4)


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        pytest.param("gemma", Erasure(partial=0, final=3, reopened=0, of=3), id="final translator"),
        pytest.param("marian", Erasure(partial=1, final=2, reopened=0, of=3), id="only one"),
    ],
)
def test_versions_of_the_final_translator_are_on_the_way_to_the_final(
    engine: str, expected: Erasure
) -> None:
    streamed = history(
        (2.0, "uno dos tres", 0, "marian", False),
        (2.1, "uno dos cuatro", 0, engine, False),
        (2.2, "uno seis cuatro", 0, engine, True),
    )
    assert erasure([streamed], full) == expected


def test_a_caption_that_goes_on_after_its_final_counts_its_rewrites_by_themselves() -> None:
    reopened = history(
        (2.0, "No pregunten", 0, "marian", False),
        (2.5, "No pregunten.", 0, "gemma", True),
        (3.0, "No pregunten qué", 0, "marian", False),
        (3.5, "No pregunten qué pueden", 0, "gemma", True),
    )
    assert erasure([reopened], full) == Erasure(partial=0, final=1, reopened=1, of=4)
    assert erasure([reopened], committed).reopened == 2, "the projector forgets what is open again"


def test_a_caption_that_is_taken_away_took_all_its_words_back() -> None:
    gone = history((2.0, "gracias por ver", 0, "marian", False), (3.0, "", 0, "marian", True))
    assert erasure([gone], full) == Erasure(partial=0, final=3, reopened=0, of=0)
    assert erasure([gone], full).share(3) is None


def test_shares_are_words_for_each_word_that_was_left() -> None:
    found = erasure([GROWN, history((2.0, "amén amén", 0, "gemma", True), id=2)], full)
    assert (found.of, found.total, found.share(found.total)) == (6, 6, 1.0)


def test_a_word_stands_since_the_version_that_no_later_one_changes() -> None:
    found = standing(GROWN, full)
    assert [(word.text, word.at_s) for word in found] == [
        ("por", 5.0),
        ("gracia", 2.0),
        ("del", 4.5),
        ("Señor", 4.5),
    ]


def test_a_comma_or_a_capital_makes_no_other_word() -> None:
    dotted = history((2.0, "Amén", 0, "marian", False), (3.0, "amén, hermanos", 0, "marian", True))
    assert [word.at_s for word in standing(dotted, full)] == [2.0, 3.0]


def test_on_the_projector_a_word_stands_once_it_is_promised() -> None:
    shown = history(
        (2.0, "uno dos", 0, "marian", False),
        (3.0, "uno dos", 3, "marian", False),
        (4.0, "uno dos", 0, "marian", True),
    )
    assert [word.at_s for word in standing(shown, committed)] == [3.0, 4.0]


def test_a_translated_word_is_due_when_its_share_is_spoken() -> None:
    lags_s = diagonal_lags_s(history((5.0, "uno dos tres", 0, "marian", True)), full)
    assert lags_s == pytest.approx([3.0, 2.0, 1.0])


def test_sightings_are_sorted_by_caption_and_keep_their_order() -> None:
    later = history((2.0, "b", 0, "marian", True), id=7)
    mixed = [*later.sightings, *GROWN.sightings]
    assert histories(mixed) == [GROWN, later]


def test_nothing_shown_is_nothing_taken_back() -> None:
    assert erasure([], full) == Erasure(0, 0, 0, 0)
    silent = history((2.0, "", 0, "marian", False))
    assert standing(silent, full) == []
    assert silent.rewrite == 1


def test_at_the_glass_is_when_the_page_said_so_and_what_it_skipped_was_never_seen() -> None:
    painted = [Painted(103.0, 2), Painted(105.5, 3)]
    seen = at_the_glass(GROWN.sightings, painted, start_s=100.0)
    # Versions 1 and 2 share one frame; version 4 was not painted before the page was closed.
    assert [(each.at_s, each.message.seq) for each in seen] == [(3.0, 2), (5.5, 3)]
    assert at_the_glass(GROWN.sightings, [], start_s=100.0) == ()
