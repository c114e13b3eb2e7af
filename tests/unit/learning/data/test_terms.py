"""Terms, confusions and what they propose."""

from __future__ import annotations

from pipeline.learning.data.terms import Confusion, confusions, new_terms, proposed_rules, terms_in


def test_a_term_is_found_by_its_words_not_by_its_letters() -> None:
    terms = ["Romans", "Holy Spirit", "sin", "Romans"]
    said = "In romans the holy spirit speaks; since then nobody slept."
    assert terms_in(said, terms) == ("Romans", "Holy Spirit")


def test_what_was_misheard_is_told_word_for_word() -> None:
    spoken = [
        ("open your bibles to easy kill", "open your Bibles to Ezekiel"),
        ("the prophet easy kill saw", "The prophet Ezekiel saw"),
        ("a whole other sentence stood here once", "Nothing of that was ever said by anybody"),
    ]
    assert confusions(spoken)[0] == Confusion("Ezekiel", "easy kill", 2)
    assert all(len(each.heard.split()) <= 3 for each in confusions(spoken))


def test_names_that_come_again_and_no_rule_knows_are_new_terms() -> None:
    texts = [
        "Welcome to Maranatha chapel. Pastor Okoro will preach.",
        "As Okoro said, Romans is a letter. Welcome to Maranatha.",
        "We sing. Welcome, all of you. Grace and grace again: Grace.",
    ]
    assert dict(new_terms(texts, ["Romans"], "en")) == {"Maranatha": 2, "Okoro": 2}
    # After a space before the mark a sentence begins as well.
    assert new_terms(["Alléluia ! Gloire à Dieu ! Gloire au Père."], [], "fr") == []
    german = ["Wir danken für die Gnade und Pastor Okoro."] * 2
    assert new_terms(german, [], "de") == [], "every noun has a capital"


def test_a_rule_is_a_whole_phrase_and_never_of_everyday_words_alone() -> None:
    spoken = [
        ("open to easy kill now", "open to Ezekiel now"),
        ("he was a soul for us", "he was a Saul for us"),
        ("the soul Tarsus knew", "the Saul Tarsus knew"),
        ("read romance first", "read Romans first"),
        ("the profit habbycook waited", "the prophet Habakkuk waited"),
        ("sing a some today", "sing a psalm today"),
    ]
    everyday = dict.fromkeys(
        ["he", "was", "a", "soul", "for", "us", "the", "some", "sing", "today", "kill"], 3
    )
    proposed = proposed_rules(spoken, ["romance", "profit", "habbycook"], everyday, "en")
    assert {(each.heard, each.said) for each in proposed} == {
        ("easy kill", "Ezekiel"),
        ("the soul Tarsus", "the Saul Tarsus"),
    }


def test_a_word_without_a_small_letter_is_no_name_for_that() -> None:
    """Once misheard, it was a rule in Arabic, and every noun in German."""
    for lang, heard, said in (
        ("ar", "قال بطرف للناس", "قال بطرس للناس"),
        ("de", "wir lesen den Bruf heute", "wir lesen den Brief heute"),
        ("zh", "我们读月汉福音", "我们读约翰福音"),
    ):
        assert proposed_rules([(heard, said)], [], {}, lang) == []
    # As it is written: the rule puts these words into captions.
    assert proposed_rules([(heard, said)] * 2, [], {}, lang) == [Confusion("约翰", "月汉", 2)]
