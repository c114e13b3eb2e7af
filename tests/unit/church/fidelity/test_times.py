"""Times of day in words."""

from __future__ import annotations

import pytest

from pipeline.church.fidelity.times import read_time
from pipeline.church.scripture.tokens import Tokens


@pytest.mark.parametrize(
    ("lang", "text", "at", "minutes"),
    [
        ("en", "at half past seven", 1, 450),
        ("en", "a quarter to eight", 1, 465),
        ("en", "at seven thirty", 1, 450),
        ("en", "seven thirty", 0, None),  # chapter and verse
        ("es", "las siete y media", 1, 450),
        ("es", "las ocho menos cuarto", 1, 465),
        ("fr", "à sept heures et demie", 1, 450),
        ("fr", "pendant sept heures et demie", 1, None),  # a duration
        ("fr", "huit heures moins le quart", 0, 465),
        ("fr", "huit heures moins vingt", 0, 460),
        ("fr", "dix-neuf heures trente", 0, 1170),
        ("fr", "sept heures dix minutes", 0, None),
        ("fr", "sept heures", 0, None),
        ("fr", "midi et quart", 0, 735),
        ("fr", "minuit moins dix", 0, -10),
        ("fr", "midi", 0, None),
    ],
)
def test_a_time_is_read(lang: str, text: str, at: int, minutes: int | None) -> None:
    found = read_time(Tokens(text), at, lang)
    assert (found and found[0]) == minutes
    if found:
        assert found[1] == len(Tokens(text))
