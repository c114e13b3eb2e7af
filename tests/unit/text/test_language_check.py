"""What no display may show: control tokens, another script. And what it must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.language_check import gibberish


@pytest.mark.parametrize(
    ("text", "lang", "why"),
    [
        ("", "es", "empty"),
        (" \n", "es", "empty"),
        ("<|endoftext|>", "en", "control-tokens"),
        ("Amén<end_of_turn>\nuser", "es", "control-tokens"),
        ("Dios es amor</s></s>", "es", "control-tokens"),
        ("▁Dios ▁es", "es", "control-tokens"),
        ("<pad> <pad>", "es", "control-tokens"),
        ("<unused12>", "es", "control-tokens"),
        ("Dios<0xE2>", "es", "control-tokens"),
        ("神はその独り子を", "es", "wrong-script"),
        ("Ибо так возлюбил Бог мир", "es", "wrong-script"),
        ("God so loved the world", "ru", "wrong-script"),
        ("God so loved the world", "ja", "wrong-script"),
    ],
)
def test_what_nobody_may_read(text: str, lang: str, why: str) -> None:
    assert gibberish(text, lang) == why


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Porque de tal manera amó Dios al mundo, ¡aleluya!", "es"),
        ("Juan 3:16", "es"),
        ("3:16", "es"),
        ("La palabra griega es λόγος, que quiere decir palabra", "es"),
        ("1.ª carta a los Corintios, n.º 13", "es"),
        ("a < b y <b>", "es"),
        ("[Música]", "es"),
        ("Ибо так возлюбил Бог мир", "ru"),
        ("神はその独り子をお与えになった", "ja"),
        ("하나님이 세상을 이처럼 사랑하사", "ko"),
        ("神爱世人", "zh"),
        ("whatever this is в языке", "xx"),
    ],
)
def test_what_must_be_shown(text: str, lang: str) -> None:
    assert gibberish(text, lang) == ""


@given(st.text(), st.sampled_from(["es", "ru", "ja", "xx"]))
def test_any_text_is_judged(text: str, lang: str) -> None:
    assert gibberish(text, lang) in ("", "empty", "control-tokens", "wrong-script")


@given(st.text(alphabet="abcdefghijklmnñopqrstuvwxyzáéíóúü ,.¡!¿?'-0123456789", min_size=1))
def test_no_spanish_is_gibberish(text: str) -> None:
    assert gibberish(text, "es") in ("", "empty")
