from __future__ import annotations

from scripts.support.voice_score import partners, score_text

TOLD = [
    "The long journey home took a year. She saw a cat in the neighbor's house.",
    "A fragment with no stop",
]


def test_all_right() -> None:
    result = score_text(TOLD, " ".join(TOLD))
    assert (result.wer, result.words, result.lost) == (0.0, 20, ())
    assert (result.stops, result.sentences) == (2, 2), "a fragment has no stop to lose"


def test_case_and_commas_do_not_count() -> None:
    assert score_text(TOLD, " ".join(TOLD).upper().replace(" took", ", took")).wer == 0.0


def test_a_full_stop_in_the_middle_is_none_at_the_end() -> None:
    heard = "The long journey. Home took a year she saw a cat in the neighbor's house?"
    result = score_text(TOLD[:1], heard)
    assert result.stops == 1
    assert result.lost == ()


def test_a_sentence_that_is_missing_is_lost() -> None:
    result = score_text(TOLD, "The long journey home took a year.")
    assert result.lost == (TOLD[0].partition(". ")[2], TOLD[1])
    assert result.stops == 1


def test_less_than_half_of_its_words_is_lost() -> None:
    lost = score_text(["Small children came to see him."], "Sh came to.").lost
    assert lost == ("Small children came to see him.",)
    assert score_text(["Small children came to see him."], "Children came to. Then").lost == ()


def test_nothing_heard_at_all() -> None:
    result = score_text(TOLD, "")
    assert (result.wer, len(result.lost), result.stops) == (1.0, 3, 0)


def test_a_misheard_word_has_a_partner_unless_both_must_be_alike() -> None:
    said, heard = ["read", "john", "three"], ["reed", "john"]
    assert partners(said, heard) == {0: 0, 1: 1}
    assert partners(said, heard, alike=True) == {1: 1}
