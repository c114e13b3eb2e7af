from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.sentences import (
    is_ended,
    is_fragment,
    pack,
    split,
    without_end,
    without_guessed_end,
)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("   ", []),
        ("Grace", ["Grace"]),
        ("Grace to you. And peace!  Amen?", ["Grace to you.", "And peace!", "Amen?"]),
        ('He said, "Come." Then they came.', ['He said, "Come."', "Then they came."]),
        ("So we wait... Then he speaks.", ["So we wait...", "Then he speaks."]),
        ("We wait... and wait.", ["We wait... and wait."]),
        ("Rev. Smith and Dr. King met.", ["Rev. Smith and Dr. King met."]),
        ("C. S. Lewis wrote it.", ["C. S. Lewis wrote it."]),
        ("C.S. Lewis wrote it. Amen.", ["C.S. Lewis wrote it.", "Amen."]),
        ("We met at 5 p.m. He came.", ["We met at 5 p.m.", "He came."]),
        ("Il dit : « Venez. » Puis il part.", ["Il dit : « Venez. »", "Puis il part."]),
        ("Here am I. Send me.", ["Here am I.", "Send me."]),
        ("Read 1 Cor. 13 and Rom. 8 today.", ["Read 1 Cor. 13 and Rom. 8 today."]),
        ("He said no. Then he left.", ["He said no.", "Then he left."]),
        ("Turn to verse 3. Follow me.", ["Turn to verse 3.", "Follow me."]),
        ("It cost 3.50 dollars.", ["It cost 3.50 dollars."]),
        ("Is it (really)? Yes.", ["Is it (really)?", "Yes."]),
        ("¿Quién? ¡Él!", ["¿Quién?", "¡Él!"]),
        ("هل جاء؟ نعم. یہ سچ ہے۔ آمین۔", ["هل جاء؟", "نعم.", "یہ سچ ہے۔", "آمین۔"]),
        ("हाँ। ठीक है।", ["हाँ।", "ठीक है।"]),
        ("神爱世人。真的吗？阿们！！God。", ["神爱世人。", "真的吗？", "阿们！！", "God。"]),
        ("他说：“来吧。”（是吗？）是。", ["他说：“来吧。”", "（是吗？）", "是。"]),
        ("真的吗?是!好", ["真的吗?", "是!", "好"]),
        ("「来なさい。」と言った。「はい。」彼", ["「来なさい。」と言った。", "「はい。」", "彼"]),
        ('他说。"来吧。"……', ['他说。"来吧。"……']),  # unknown: does the mark open or close?
    ],
)
def test_splits_at_sentence_ends_only(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@pytest.mark.parametrize(
    ("text", "most", "pieces"),
    [
        ("One. Two.", 9, ["One. Two."]),
        ("Grace. Peace. Mercy and love.", 14, ["Grace. Peace.", "Mercy and", "love."]),
        ("Faith, hope, and also love. Amen.", 14, ["Faith, hope,", "and also love.", "Amen."]),
        ("神爱世人。 他来了。 阿们。", 10, ["神爱世人。他来了。", "阿们。"]),
        ("神爱世人，他来了。阿们。", 6, ["神爱世人，", "他来了。", "阿们。"]),
        ("a Nebuchadnezzar b", 3, ["a", "Nebuchadnezzar", "b"]),  # it does not fit
    ],
)
def test_cuts_at_sentences_before_clauses_before_words(
    text: str, most: int, pieces: list[str]
) -> None:
    assert pack(text, lambda piece: len(piece) <= most) == pieces


@given(st.text(alphabet="ab. ,!\n", max_size=80), st.integers(1, 20))
def test_nothing_is_lost(text: str, limit: int) -> None:
    pieces = pack(text, lambda piece: len(piece) <= limit)
    assert " ".join(pieces).split() == text.split()
    assert all(len(piece) <= limit or " " not in piece.strip() for piece in pieces)


@pytest.mark.parametrize(
    ("text", "is_over", "bare"),
    [
        ("God is good.", True, "God is good"),
        ('"Is he?" ', True, '"Is he'),
        ("\u795e\u306f\u611b\u3067\u3059\u3002", True, "\u795e\u306f\u611b\u3067\u3059"),
        ("「来なさい。」", True, "「来なさい"),
        ("And so,", False, "And so,"),
        ("And so...", False, "And so..."),
        ("And so\u2026", False, "And so\u2026"),
        ("", False, ""),
    ],
)
def test_whether_a_sentence_is_over(text: str, is_over: bool, bare: str) -> None:
    assert is_ended(text) is is_over
    assert without_end(text) == bare


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("", True),
        ("Ask not!", True),
        ("\u0130\u015fte, \u00f6yle.", True),
        ("Let us pray.", False),
        ("\u963f\u4eec\u3002", True),
        ("\u795e\u306f\u611b\u3067\u3059\u3002", False),
    ],
)
def test_a_word_or_two_are_a_fragment_whatever_stands_behind_them(text: str, is_one: bool) -> None:
    assert is_fragment(text) is is_one


@pytest.mark.parametrize(
    ("partial", "told"),
    [
        *(("And so.", "And so"), ("And so", "And so"), ("Is it?", "Is it?"), ("So..", "So..")),
        *(("", ""), ("神は愛です。", "神は愛です"), ("परमेश्वर प्रेम है।", "परमेश्वर प्रेम है")),
    ],
)
def test_a_full_stop_that_is_only_guessed_is_left_out(partial: str, told: str) -> None:
    assert without_guessed_end(partial) == told
