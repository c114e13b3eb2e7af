"""What a dictionary file may contain, and how its mistakes are reported."""

from __future__ import annotations

import pytest

from pipeline.core.errors import DictionaryError
from pipeline.dictionary.rules import Rule, key, parse_rules


def test_a_full_rule() -> None:
    text = """
    [lists]
    scripture = ["Chapter", "verse"]

    [[rule]]
    id = "romans"
    hear = ["romance", "Row mans"]
    write = " Romans  chapter "
    near = ["@scripture", "Paul's", "#"]
    not_near = "novel"
    within_words = 4
    hotword = true
    example = "In romance eight."
    becomes = "In Romans eight."
    untouched = "A romance."
    """
    assert parse_rules(text, "en.toml") == (
        Rule(
            id="romans",
            hear=("romance", "Row mans"),
            write="Romans chapter",
            near=frozenset({"chapter", "verse", "paul's", "#"}),
            not_near=frozenset({"novel"}),
            within_words=4,
            hotword=True,
            example="In romance eight.",
            becomes="In Romans eight.",
            untouched=("A romance.",),
            source="en.toml",
        ),
    )


def test_the_least_a_rule_needs() -> None:
    rule = '\ufeff[[rule]]\nhear = "pastor oh you"\nwrite = "Pastor O’Hugh\'s"\r\n'
    assert parse_rules(rule, "church.toml") == (
        Rule("pastor-ohughs", ("pastor oh you",), "Pastor O’Hugh's", source="church.toml"),
    )


@pytest.mark.parametrize("text", ["", "# nothing yet", "[lists]\ngod = ['lord']", "rule = []"])
def test_a_file_without_rules_is_fine(text: str) -> None:
    assert parse_rules(text, "church.toml") == ()


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("[[rule]]\nhear = holy", "dictionary-not-toml", ["line 2", "double quotes"]),
        ("[[rules]]", "dictionary-unknown-key", ["'rules'", "Did you mean 'rule'?"]),
        (
            "title = 'x'",
            "dictionary-unknown-key",
            ["'title'", "Known: bible_names, lists, names, rule."],
        ),
        (
            "[[rule]]\nhear='a'\nwrite='b'\n[[rule]]\nhera='a'",
            "dictionary-unknown-key",
            ["rule 2", "'hera'", "Did you mean 'hear'?"],
        ),
        ("[[rule]]\nsource='x'\nhear='a'\nwrite='b'", "dictionary-unknown-key", ["'source'"]),
        ("[[rule]]\nhear='a'", "dictionary-missing-key", ["rule 1", "'write'", "Add write"]),
        ("[[rule]]\nwrite='a'\nhear=[]", "dictionary-missing-key", ["'hear'"]),
        ("[[rule]]\nwrite=' '\nhear='a'", "dictionary-missing-key", ["'write'"]),
        ("[[rule]]\nwrite='a'\nhear=['b', ' - ']", "dictionary-empty-phrase", ["' - '"]),
        ("[[rule]]\nwrite=3\nhear='b'", "dictionary-wrong-type", ["'write'", "3", "quotes"]),
        ("[[rule]]\nwrite='a'\nhear=['b', 7]", "dictionary-wrong-type", ["'hear'", "7", "list"]),
        ("[[rule]]\nwrite='a'\nhear='b'\nhotword=1", "dictionary-wrong-type", ["true or false"]),
        ("[[rule]]\nwrite='a'\nhear='b'\nwithin_words=true", "dictionary-wrong-type", ["whole"]),
        ("[[rule]]\nwrite='a'\nhear='b'\nwithin_words=0", "dictionary-out-of-range", ["is 0"]),
        ("rule = ['a']", "dictionary-wrong-type", ["rule 1", "[[rule]]"]),
        ("rule = 'a'", "dictionary-wrong-type", ["'rule'", "[[rule]]"]),
        ("lists = 3", "dictionary-wrong-type", ["'lists'", "table"]),
        ("[lists]\ngod = [1]", "dictionary-wrong-type", ["[lists]", "'god'"]),
        ("[lists]\ngod = ['the lord']", "dictionary-not-one-word", ["[lists]", "'the lord'"]),
        ("[[rule]]\nwrite='a'\nhear='b'\nnear=['']", "dictionary-not-one-word", ["'near'", "''"]),
        (
            "[lists]\ngod=['lord']\n[[rule]]\nwrite='a'\nhear='b'\nnot_near='@gods'",
            "dictionary-unknown-list",
            ["rule 1", "'not_near'", "'@gods'", "Known: god;"],
        ),
        ("[[rule]]\nwrite='a'\nhear='b'\nnear='@x'", "dictionary-unknown-list", ["Known: none"]),
        (
            "[[rule]]\nwrite='a'\nhear='b'\nexample='b'",
            "dictionary-half-example",
            ["'example' and 'becomes'"],
        ),
        (
            "[[rule]]\nwrite='One'\nhear='b c'\n[[rule]]\nwrite='Two'\nhear='B-C'",
            "dictionary-duplicate-phrase",
            ["rule 2 (two)", "'B-C'", "rule 'one'"],
        ),
        (
            "[[rule]]\nwrite='One'\nhear='b'\n[[rule]]\nwrite='one'\nhear='c'",
            "dictionary-duplicate-id",
            ["rule 2", "'one'", "`id`"],
        ),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, code: str, says: list[str]) -> None:
    with pytest.raises(DictionaryError) as caught:
        parse_rules(text, "church.toml")
    assert caught.value.code == code
    assert caught.value.message.startswith("church.toml")
    assert caught.value.fix
    for part in says:
        assert part in str(caught.value)


def test_phrases_are_compared_without_case_marks_and_blanks() -> None:
    assert key("  The LORD’s — Prayer! ") == "the lord's prayer"


def test_names_of_the_churchs_people_are_rules_that_hear_themselves() -> None:
    (rule,) = parse_rules('names = ["Chidi  Okonkwo", "..."]', "church.toml")
    assert (rule.hear, rule.write, rule.hotword) == (("Chidi Okonkwo",), "Chidi Okonkwo", True)
