"""Scores equal sacrebleu's; the verdict separates a loss from chance."""

from __future__ import annotations

import random

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from pipeline.evaluation import paired_bootstrap as comparison
from pipeline.evaluation.sentences import read
from scripts.quality.evaluate import losses_of, overall, scores

SENTENCES = read()
GOOD = [sentence.target for sentence in SENTENCES]


def damaged(texts: list[str], share: float, seed: int) -> list[str]:
    """Return the texts with `share` of the words replaced by words of random sentences."""
    draw = random.Random(seed)
    every = " ".join(GOOD).split()
    return [
        " ".join(draw.choice(every) if draw.random() < share else word for word in text.split())
        for text in texts
    ]


@pytest.mark.slow
def test_scores_are_those_of_sacrebleu() -> None:
    texts = damaged(GOOD, 0.3, 1)
    found = scores(texts, SENTENCES)
    assert found["BLEU"] == round(sacrebleu.corpus_bleu(texts, [GOOD]).score, 2)
    assert found["chrF++"] == round(sacrebleu.corpus_chrf(texts, [GOOD], word_order=2).score, 2)
    assert 0 < found["terms, %"] < 100


def test_a_perfect_and_an_empty_translation() -> None:
    assert scores(GOOD, SENTENCES) == {"BLEU": 100, "chrF++": 100, "terms, %": 100}
    assert set(scores([""] * 100, SENTENCES).values()) == {0}


@pytest.mark.slow
def test_chance_is_judged_as_sacrebleu_judges_it() -> None:
    """sacrebleu gives the one-tailed p-value: an interval without zero means p < 2.5 %."""
    a = damaged(GOOD, 0.3, 1)
    metrics = {"BLEU": BLEU(), "chrF++": CHRF(word_order=2)}
    decided = set()
    for share, seed in ((0.3, 2), (0.5, 4)):
        b = damaged(GOOD, share, seed)
        found = comparison.compare(a, b, SENTENCES, comparison.LIMITS)
        _, theirs = PairedTest([("a", a), ("b", b)], metrics, [GOOD], "bs", 2000)()
        for name, column in (("BLEU", "BLEU"), ("chrF++", "chrF2++")):
            chance = found[name].low <= 0 <= found[name].high
            assert chance == (theirs[column][1].p_value > 0.025)
            decided.add(chance)
    assert decided == {True, False}


@pytest.mark.slow
def test_much_damage_is_worse_and_its_absence_better() -> None:
    bad = damaged(GOOD, 0.4, 1)
    little = damaged(GOOD, 0.1, 2)
    worse = comparison.compare(little, bad, SENTENCES, comparison.LIMITS)
    assert {d.verdict for d in worse.values()} == {"worse"}
    better = comparison.compare(bad, little, SENTENCES, comparison.LIMITS)
    assert overall(better) == "better"


@pytest.mark.parametrize(
    ("gain", "low", "high", "verdict"),
    [
        (-1.9, -2.5, -1.0, "same"),
        (-2.1, -4.0, -0.1, "worse"),
        (-2.1, -4.0, 0.1, "cannot tell"),
        (2.1, 0.1, 4.0, "better"),
        (2.1, -0.1, 4.0, "same"),
        (0.0, 0.0, 0.0, "same"),
    ],
)
def test_what_a_difference_means(gain: float, low: float, high: float, verdict: str) -> None:
    assert comparison.judge(gain, low, high, 2.0) == verdict


def test_the_worst_news_is_the_verdict() -> None:
    def found(*verdicts: comparison.Verdict) -> dict[str, comparison.Difference]:
        return {
            str(n): comparison.Difference(0, 0, 0, 0, 0, 2, verdict)
            for n, verdict in enumerate(verdicts)
        }

    assert overall(found("better", "worse", "cannot tell")) == "worse"
    assert overall(found("better", "cannot tell", "same")) == "cannot tell"
    assert overall(found("better", "same", "same")) == "better"


@pytest.mark.slow
def test_the_greatest_losses_come_first() -> None:
    worse = list(GOOD)
    worse[7] = "Nada."
    worse[2] = worse[2].replace("nunca", "")
    found = losses_of(GOOD, worse, SENTENCES)
    assert [index for _, index in found[:2]] == [7, 2]
    assert found[0][0] < found[1][0] < found[2][0] == 0


@pytest.mark.slow
def test_a_recognizer_is_worse_only_where_utterances_agree() -> None:
    spoken = [10] * 60
    same = [(1, count) for count in spoken]
    worse = [(2, count) for count in spoken]
    found = comparison.compare_errors(same, worse, limit=0.0)
    assert (found.a, found.b, found.difference, found.verdict) == (90.0, 80.0, -10.0, "worse")
    assert comparison.compare_errors(worse, same, limit=0.0).verdict == "better"
    one = [(9, 10), *same[1:]]
    assert comparison.compare_errors(same, one, limit=0.0).verdict == "cannot tell"
    assert comparison.compare_errors(same, same, limit=0.0).verdict == "same"
