"""Everyday words: none of them becomes a name, and no rule is kept for one alone."""

from __future__ import annotations

import pytest

from pipeline.core.errors import DictionaryError
from pipeline.dictionary.common_words import common_words, require_rare


@pytest.mark.parametrize("heard", ["soul", "health", "help", "Hope", "it's", "sermon"])
def test_a_rule_for_an_everyday_word_is_refused_and_says_why(heard: str) -> None:
    with pytest.raises(DictionaryError) as raised:
        require_rare(heard, "en")
    assert raised.value.code == "dictionary-common-word"
    assert "everyday word" in raised.value.message
    assert raised.value.fix


@pytest.mark.parametrize("heard", ["spurgin", "row mans", "my health comes", "Habakuk", "..."])
def test_strange_words_and_phrases_may_have_a_rule(heard: str) -> None:
    require_rare(heard, "en")


def test_a_language_without_a_list_refuses_nothing() -> None:
    assert common_words("ko") == frozenset()
    require_rare("soul", "ko")
