"""Dictionary files: any content is rules or a DictionaryError that names the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.config.loader import load
from pipeline.core.resources import bundled
from pipeline.dictionary.matcher import compile_lexicon, correct
from pipeline.dictionary.rules import parse_rules
from pipeline.dictionary.store import Dictionary
from tests.support.coordinator import transcript
from tests.support.examples import examples
from tests.support.material import FUZZ, TEXTS, VALUES, accepted, damaged, toml

SHIPPED = bundled("dictionary", "en.toml").read_bytes()
GOOD = b"""
[lists]
scripture = ["chapter", "verse"]
[[rule]]
hear = ["romance", "row mans"]
write = "Romans"
near = ["@scripture", "#"]
example = "romance chapter 8"
becomes = "Romans chapter 8"
[[rule]]
hear = "holly spirit"
write = "Holy Spirit"
hotword = true
within_words = 3
untouched = ["holly and spirit"]
"""
KEYS = [
    *("id", "hear", "write", "near", "not_near", "within_words", "hotword"),
    *("example", "becomes", "untouched", "heer"),
]
WORDS = TEXTS | st.sampled_from(["romance", "row mans", "Romans", "@lists", "#", "it's", "ﬁn", "İ"])
RULES = st.dictionaries(
    st.sampled_from(KEYS), st.one_of(WORDS, st.lists(WORDS, max_size=3), VALUES), max_size=6
)


def tried(text: str) -> None:
    rules = accepted(lambda: parse_rules(text, "own.toml"), "own.toml")
    lexicon = rules and accepted(lambda: compile_lexicon(rules), "own.toml")
    if lexicon:
        heard = transcript("romance chapter 8 row mans it's holly spirit fin i")
        corrected = correct(lexicon, heard)
        assert corrected.raw_text == heard.raw_text
        lexicon.hotwords(5)


@pytest.mark.slow
@FUZZ
@given(st.lists(RULES, max_size=3), st.dictionaries(WORDS, VALUES, max_size=2))
@example([{"hear": "romance", "write": "Romans", "within_words": 10**30}], {})
@example([{"hear": "İ", "write": "i̇"}], {})
def test_any_rules_are_taken_or_refused_by_the_files_name(
    rules: list[dict[str, Any]], lists: dict[str, Any]
) -> None:
    tables = "".join(f"[[rule]]\n{toml(rule)}" for rule in rules)
    tried(f"[lists]\n{toml(lists)}{tables}")


@FUZZ
@given(damaged(GOOD).map(lambda data: data.decode(errors="replace")))
@example("a = " + "[" * 5000)
@example("[[rule]]\nwithin_words = " + "9" * 5000)
@example('[[rule]]\nhear = "a"\nwrite = "b"\nwithin_words = -0x' + "f" * 5000)
@example("[[rule]]\nhear = 0x" + "f" * 5000)
def test_a_damaged_file_is_taken_or_refused_by_its_name(text: str) -> None:
    tried(text)


@pytest.mark.slow
@FUZZ
@given(content=st.binary(max_size=40) | damaged(GOOD), later=damaged(GOOD))
def test_a_file_that_becomes_wrong_leaves_the_rules_in_force(
    tmp_path: Path, content: bytes, later: bytes
) -> None:
    own = tmp_path / "own.toml"
    own.write_bytes(content)
    wanted = load(flags={"translate.source": "fr", "dictionary.file": str(own)}).settings
    dictionary = accepted(lambda: Dictionary(wanted), str(own))
    if dictionary is None:
        return
    lexicon = dictionary.lexicon
    own.write_bytes(later)

    def load_again() -> bool:
        dictionary.take(Dictionary(wanted))
        return True

    if not accepted(load_again, str(own)):
        assert dictionary.lexicon is lexicon


@pytest.mark.slow
@settings(FUZZ, max_examples=examples(20))
@given(damaged(SHIPPED))
def test_the_shipped_file_damaged(content: bytes) -> None:
    tried(content.decode(errors="replace"))
