"""The verdict on two models from their measures."""

from __future__ import annotations

import pytest

from pipeline.evaluation.paired_bootstrap import Difference, Verdict
from pipeline.learning.verdict import Measured, advise, in_words, table_rows

NO_LOSS = (-0.4, 0.6)


def measured(
    of: str,
    verdict: Verdict = "same",
    count: int = 60,
    ends: tuple[float, float] = NO_LOSS,
    measure: str = "chrF++",
) -> Measured:
    gain = sum(ends) / 2
    difference = Difference(50.0, 50.0 + gain, gain, *ends, 0.0, verdict)
    return Measured(set=of, measure=measure, count=count, difference=difference)


GUARDS = [measured("gate, general"), measured("preaching")]


def test_one_own_sentence_does_not_outweigh_unseen_preaching() -> None:
    found = [
        measured("own sermons", "better", 1, (4.0, 4.0)),
        measured("gate, general"),
        measured("preaching", "worse", 60, (-7.7, -0.4)),
    ]
    advice, reasons = advise(found)
    assert advice == "keep"
    assert reasons == ("chrF++ of preaching -4.0 (-7.7 to -0.4)",)
    text = " ".join(in_words(found))
    assert text.startswith("Keep the model that you have.")
    assert "preaching of other churches got worse by 4.0 points of 100" in text
    assert "Of your own sermons only 1 was measured" in text


@pytest.mark.parametrize(
    ("count", "verdict", "advice"),
    [(29, "worse", "deploy"), (30, "worse", "keep"), (29, "better", "deploy")],
)
def test_own_sentences_decide_from_thirty_on(count: int, verdict: Verdict, advice: str) -> None:
    own = measured("own sermons", verdict, count, (-3.0, -1.0))
    assert advise([own, *GUARDS])[0] == advice


@pytest.mark.parametrize(("low", "advice"), [(-0.9, "deploy"), (-1.1, "keep")])
def test_unseen_speech_may_not_even_perhaps_lose_more_than_a_point(low: float, advice: str) -> None:
    found = [measured("gate, general"), measured("preaching", ends=(low, 1.5))]
    assert advise(found)[0] == advice
    assert (table_rows(found)[1]["verdict"] == "not sure") == (advice == "keep")


@pytest.mark.parametrize(("count", "advice"), [(29, "keep"), (30, "deploy")])
def test_three_voices_do_not_decide_for_a_recognizer(count: int, advice: str) -> None:
    own = measured("own sound", "worse" if count < 30 else "same", count, measure="100 - WER")
    found = [own, measured("voices", count=3, measure="100 - WER")]
    assert advise(found)[0] == advice


def test_a_guard_of_too_few_sentences_lets_nothing_pass() -> None:
    found = [measured("gate, general", count=4), measured("preaching", count=4)]
    assert advise(found)[0] == "keep"
    assert {row["verdict"] for row in table_rows(found)} == {"too few"}


def test_meaning_and_terms_may_not_be_worse_and_a_gain_is_told() -> None:
    meaning = measured("meaning", "worse", 300, (-6.0, -2.0), "meaning, %")
    assert advise([*GUARDS, meaning])[0] == "keep"
    assert "worse by 4.0 of 100 sentences with their meaning right" in " ".join(
        in_words([*GUARDS, meaning])
    )
    own = measured("own sermons", "better", 40, (1.0, 5.0))
    assert in_words([*GUARDS, own]) == [
        "Use the new model: it is better, and nothing is lost that matters.",
        "Better: your own sermons, by 3.0 points of 100 (chrF++).",
    ]
    assert in_words(GUARDS) == ["The new model does no harm. It is not measurably better either."]


def test_where_nothing_is_measured_the_old_model_stays() -> None:
    assert advise([measured("own sound", "better", 3, (5.0, 5.0), "100 - WER")])[0] == "keep"
