"""When a printed verse is shown."""

from __future__ import annotations

import pytest

from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.passages import Passages
from pipeline.church.scripture.verse_index import VerseIndex
from tests.support.verses import small_index

GOD_SO_LOVED = (
    "For God so loved the world that he gave his only begotten Son",
    "that whosoever believeth in him should not perish but have everlasting life",
)
NEXT = "For God sent not his Son into the world to condemn the world"
SHEPHERD = "The Lord is my shepherd I shall not want"
JOHN_3_16 = Reference(43, 3, 16)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> VerseIndex:
    return small_index(tmp_path_factory.mktemp("index"))


@pytest.fixture
def passages(index: VerseIndex) -> Passages:
    return Passages(index, "en")


def test_a_reference_and_its_words_go_on_air(passages: Passages) -> None:
    assert passages.push("Turn with me to John three sixteen.", 4.0).on_air is None
    heard = passages.push(f"It says {GOD_SO_LOVED[0]}", 9.0)
    assert (heard.on_air, heard.suggested) == (JOHN_3_16, None)


def test_a_reference_and_other_words_do_not(passages: Passages) -> None:
    passages.push("Turn with me to John three sixteen.", 4.0)
    heard = passages.push("My father painted that on the roof of our barn", 9.0)
    assert (heard.on_air, heard.suggested) == (None, None)


def test_a_quotation_alone_is_suggested_first_and_aired_when_it_goes_on(passages: Passages) -> None:
    first = passages.push(GOD_SO_LOVED[0], 4.0)
    assert (first.on_air, first.suggested) == (None, JOHN_3_16)
    assert passages.push(GOD_SO_LOVED[1], 8.0).on_air == JOHN_3_16


def test_the_same_words_do_not_count_twice(passages: Passages) -> None:
    passages.push(GOD_SO_LOVED[0], 4.0)
    later = passages.push("and now let us sing about that", 8.0)
    assert (later.on_air, later.suggested) == (None, None)


def test_reading_on_follows_verse_by_verse(passages: Passages) -> None:
    passages.push("John 3:16", 1.0)
    assert passages.push(" ".join(GOD_SO_LOVED), 8.0).on_air == JOHN_3_16
    assert passages.push(NEXT, 14.0).on_air == Reference(43, 3, 17)
    assert passages.push("That is the gospel my friends", 18.0).on_air is None


def test_several_verses_in_one_breath_are_one(passages: Passages) -> None:
    passages.push("John 3:16-17", 1.0)
    heard = passages.push(f"{' '.join(GOD_SO_LOVED)} {NEXT} but that the world", 12.0)
    assert heard.on_air == Reference(43, 3, 16, 17)


def test_a_reading_over_chapters_goes_on_air_from_its_first_verse(passages: Passages) -> None:
    passages.push("John 3:16 through 4:2", 1.0)
    assert passages.push(" ".join(GOD_SO_LOVED), 8.0).on_air == JOHN_3_16


def test_a_chapter_that_was_named_is_enough_of_a_reference(passages: Passages) -> None:
    passages.push("Let us read Psalm 23", 1.0)
    assert passages.push(SHEPHERD, 5.0).on_air == Reference(19, 23, 1)


def test_without_leave_everything_is_a_suggestion(passages: Passages) -> None:
    passages.push("John 3:16", 1.0)
    heard = passages.push(GOD_SO_LOVED[0], 5.0, may_air=False)
    assert (heard.on_air, heard.suggested) == (None, JOHN_3_16)


def test_a_verse_is_not_shown_again_at_once(passages: Passages) -> None:
    passages.push("Psalm 23:1", 1.0)
    assert passages.push(SHEPHERD, 5.0).on_air is not None
    again = passages.push(SHEPHERD, 60.0)
    assert (again.on_air, again.suggested) == (None, None)
    passages.push("Psalm 23:1", 200.0)
    assert passages.push(SHEPHERD, 205.0).on_air is not None


def test_a_dismissed_verse_stays_away_for_ten_minutes(passages: Passages) -> None:
    assert passages.push(GOD_SO_LOVED[0], 4.0).suggested == JOHN_3_16
    passages.dismiss(JOHN_3_16, 4.0)
    assert passages.push(" ".join(GOD_SO_LOVED), 300.0).suggested is None
    assert passages.push(GOD_SO_LOVED[0], 700.0).suggested == JOHN_3_16


def test_a_final_that_was_reopened_counts_once(passages: Passages) -> None:
    passages.push("John 3:16", 1.0)
    assert passages.push(GOD_SO_LOVED[0], 5.0).on_air == JOHN_3_16
    passages.take_back()
    assert passages.push(" ".join(GOD_SO_LOVED), 9.0).on_air == JOHN_3_16
    passages.forget()
    assert passages.push(NEXT, 14.0).suggested == Reference(43, 3, 17)
    passages.take_back()
    assert passages.push(f"{NEXT} now", 15.0).on_air is None


def test_what_is_long_ago_does_not_count(passages: Passages) -> None:
    passages.push("John 3:16", 1.0)
    heard = passages.push(GOD_SO_LOVED[0], 120.0)
    assert (heard.on_air, heard.suggested) == (None, JOHN_3_16)
    assert passages.push(GOD_SO_LOVED[1], 180.0).on_air is None


def test_what_was_off_the_record_is_forgotten(passages: Passages) -> None:
    passages.push("John 3:16", 1.0)
    passages.forget()
    heard = passages.push(GOD_SO_LOVED[0], 5.0)
    assert (heard.on_air, heard.suggested) == (None, JOHN_3_16)


def test_silence_and_single_words_are_nothing(passages: Passages) -> None:
    for text in ("", "Amen.", "…"):
        assert passages.push(text, 1.0).suggested is None
