"""Captions against a reference of four short sentences, each figure counted by hand."""

from __future__ import annotations

import pytest

from pipeline.captions.subtitles import Cue
from pipeline.evaluation.accuracy import Found, chrf_and_bleu, terms, uncovered, word_error_rate
from pipeline.evaluation.reference import Sentence

TOLD = [
    Sentence(0, "one", 1.0, 3.0, "Grace and peace.", "Gracia y paz.", (("Grace", "Gracia"),)),
    Sentence(0, "one", 4.0, 6.0, "God is good.", "Dios es bueno.", (("God", "Dios"),)),
    Sentence(0, "two", 11.0, 13.0, "Let us pray.", "Oremos.", ()),
    Sentence(1, "one", 21.0, 23.0, "Grace and peace.", "Gracia y paz.", (("Grace", "Gracia"),)),
]


def said() -> list[Cue]:
    return [Cue(each.start_s, each.end_s, each.source) for each in TOLD]


def read() -> list[Cue]:
    return [Cue(each.start_s, each.end_s, each.target) for each in TOLD]


@pytest.mark.parametrize(
    ("captions", "rate"),
    [
        (said(), 0.0),
        ([], 1.0),
        (said()[:3], 3 / 12),
        ([Cue(1.0, 3.0, "GRACE, and peas!"), *said()[1:]], 1 / 12),
        ([*said(), Cue(24.0, 26.0, "uh huh")], 2 / 12),
    ],
)
def test_word_error_rate(captions: list[Cue], rate: float) -> None:
    assert word_error_rate(TOLD, captions) == pytest.approx(rate, abs=1e-4)


def test_a_section_is_compared_as_a_whole() -> None:
    one, two, *rest = read()
    assert chrf_and_bleu(TOLD, read())[0] == 100.0
    # The same words cut elsewhere within the section lose nothing ...
    moved = [Cue(1.0, 4.8, "Gracia y paz. Dios"), Cue(4.8, 6.0, "es bueno."), *rest]
    assert chrf_and_bleu(TOLD, moved) == chrf_and_bleu(TOLD, read())
    # ... the same words in another section do.
    misplaced = [one, Cue(11.0, 12.0, two.text), *rest]
    assert (chrf_and_bleu(TOLD, misplaced)[0] or 0) < 90.0


def test_text_outside_every_section_belongs_to_the_one_before_it() -> None:
    early, late = Cue(0.0, 0.5, "Hola."), Cue(8.0, 9.0, "Hola.")
    assert chrf_and_bleu(TOLD, [early, *read()])[0] == chrf_and_bleu(TOLD, [*read(), late])[0]
    assert (chrf_and_bleu(TOLD, [early, *read()])[0] or 0) < 100.0


def test_without_speech_there_is_nothing_to_compare() -> None:
    assert word_error_rate([], said()) is None
    assert chrf_and_bleu([], read()) == (None, None)
    assert terms([], said(), "source") == Found(0, 0)
    assert uncovered([], said()) == []


def test_half_of_a_sentence_must_be_covered_by_captions_together() -> None:
    pieces = [Cue(1.0, 1.5, "Grace"), Cue(2.0, 2.5, "peace"), *said()[1:]]
    assert uncovered(TOLD, pieces) == []
    assert uncovered(TOLD, pieces[1:]) == ["Grace and peace."]
    assert uncovered(TOLD, []) == [each.source for each in TOLD]


def test_a_term_counts_where_it_was_said_and_as_a_word() -> None:
    assert terms(TOLD, said(), "source") == Found(3, 3)
    assert terms(TOLD, read(), "target") == Found(3, 3)
    disgrace = [Cue(1.0, 3.0, "Disgrace and peace."), *said()[1:]]
    assert terms(TOLD, disgrace, "source") == Found(2, 3)
    elsewhere = [*said()[1:], Cue(6.0, 7.0, "Grace and peace.")]
    assert terms(TOLD, elsewhere, "source") == Found(2, 3)
