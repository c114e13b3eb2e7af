"""How common the words of a sentence are."""

from __future__ import annotations

from pipeline.church.fidelity.rarity import counted, is_unknown, rarity


def test_one_rare_word_makes_a_sentence_rare() -> None:
    frequent = rarity("I believe that the Lord is with all of you.", "en")
    rare = rarity("I believe that the zyzzyva is with all of you.", "en")
    assert frequent is not None
    assert rare is not None
    assert frequent < 3
    assert rare == 7


def test_names_and_first_words_do_not_count() -> None:
    assert rarity("Zyzzyva, said Zyzzyva, you can go.", "en") == rarity(
        "Go, said John, you can go.", "en"
    )


def test_a_typographic_apostrophe_is_none_of_the_word() -> None:
    assert rarity("we don’t know", "en") == rarity("we don't know", "en")


def test_of_an_uncounted_language_nothing_is_known() -> None:
    assert rarity("el Señor es bueno", "es") is None


def test_names_of_the_bible_are_known() -> None:
    assert not is_unknown("Ahithophel", "en")
    assert is_unknown("Peterborough", "en")
    assert not is_unknown("Peterborough", "fr")


def test_words_stand_in_the_line_of_their_count() -> None:
    texts = ["a lamb and a goat", "the lamb", "a goat, again", "goat", "goat", "once"]
    lines = counted(texts, ["And Ahitub begat Zadok."]).splitlines()
    assert lines[0] == "ahitub lamb zadok"  # in two sentences, or names of verses
    assert lines[1] == "goat"  # in four
    assert not any(lines[2:])
