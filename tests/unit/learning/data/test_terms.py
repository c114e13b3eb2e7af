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
    assert dict(new_terms(texts, known=["Romans"])) == {"Maranatha": 2, "Okoro": 2}


def test_a_rule_is_proposed_for_a_name_or_what_is_misheard_again() -> None:
    found = [
        Confusion("Ezekiel", "easy kill", 1),
        Confusion("pew", "few", 1),
        Confusion("psalm", "some", 3),
        Confusion("Romans", "romance", 2),
    ]
    proposed = proposed_rules(found, known=["romance"], small_words={"some": 40})
    assert [each.said for each in proposed] == ["Ezekiel"]
