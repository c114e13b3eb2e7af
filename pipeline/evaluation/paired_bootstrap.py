"""Compare two engines: scores, and whether their difference may be chance. Pure functions.

BLEU: Papineni et al. 2002; chrF++: Popović 2017 (character 6-grams with word bigrams); both as
sacrebleu computes them. The difference of two sides on the same sentences uses a paired bootstrap:
Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from pipeline.evaluation.sentences import THEOLOGICAL, Sentence

Verdict = Literal["same", "better", "worse", "cannot tell"]
Statistics = npt.NDArray[np.float64]
"""One row for each sentence; a corpus is the sum of its rows."""

# Enough for stable ends of a 95 % interval: 50 resamples lie beyond each end.
RESAMPLES = 2000
# Fixed, so that the same translations get the same verdict each time.
SEED = 20241120
TERMS = "terms, %"
# Terms are few: one of forty is 2.5 points, and one term must not decide alone.
LIMITS = {"BLEU": 2.0, "chrF++": 2.0, TERMS: 5.0}
"""The largest allowed loss of a measure, in points."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A score of 0..100, computed from a corpus's summed statistics."""

    name: str
    statistics: Callable[[Sequence[str], Sequence[Sentence]], Statistics]
    score: Callable[[Statistics], float]


@dataclass(frozen=True, slots=True)
class Difference:
    """The gain of side B over side A in points, with its confidence interval."""

    a: float
    b: float
    difference: float
    low: float
    """Lower end of the interval that holds the difference in 95 % of the resamples."""
    high: float
    """Upper end of the interval."""
    limit: float
    verdict: Verdict


def compare(
    a: Sequence[str],
    b: Sequence[str],
    sentences: Sequence[Sentence],
    limits: dict[str, float],
) -> dict[str, Difference]:
    """Return the difference of two translations of the same sentences, for each measure.

    Terms are compared on the theological sentences, if there are any: "the bus" has many valid
    translations, "atonement" has not.
    """
    found = {}
    for measure in MEASURES:
        which = judged_on(measure.name, sentences)
        of = [sentences[index] for index in which]
        first, second = (
            measure.statistics([texts[index] for index in which], of) for texts in (a, b)
        )
        limit = limits[measure.name]
        found[measure.name] = _difference(first, second, measure.score, limit)
    return found


def judged_on(measure: str, sentences: Sequence[Sentence]) -> list[int]:
    """Return the indices of the sentences that a measure uses."""
    theological = [i for i, each in enumerate(sentences) if each.kind == THEOLOGICAL]
    return theological if measure == TERMS and theological else list(range(len(sentences)))


def compare_errors(
    a: Sequence[tuple[int, int]],
    b: Sequence[tuple[int, int]],
    limit: float,
) -> Difference:
    """Return the difference of two recognizers on the same utterances.

    `a`, `b`: wrong words and spoken words of each utterance. The scores are 100 minus the WER, so
    that more is better as with the others (Bisani and Ney 2004, "Bootstrap Estimates for
    Confidence Intervals in ASR Performance Evaluation": utterances are drawn, not words).
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return _difference(first, second, _right, limit)


def _difference(
    first: Statistics,
    second: Statistics,
    score: Callable[[Statistics], float],
    limit: float,
) -> Difference:
    # The same draws for both sides and every measure, so that the differences are paired.
    draws = np.random.default_rng(SEED).integers(len(first), size=(RESAMPLES, len(first)))
    # Score each resample as a corpus: BLEU is not a mean over sentences.
    gains = [score(second[draw].sum(axis=0)) - score(first[draw].sum(axis=0)) for draw in draws]
    low, high = (float(end) for end in np.percentile(gains, (2.5, 97.5)))
    score_a, score_b = (score(each.sum(axis=0)) for each in (first, second))
    gain = score_b - score_a
    return Difference(
        # Rounded for display only: the verdict uses all digits.
        a=round(score_a, 2),
        b=round(score_b, 2),
        difference=round(gain, 2),
        low=round(low, 2),
        high=round(high, 2),
        limit=limit,
        verdict=judge(gain, low, high, limit),
    )


def judge(gain: float, low: float, high: float, limit: float) -> Verdict:
    """Return the verdict on a difference.

    A loss or a gain counts if it is beyond the limit and not explained by chance. A loss beyond
    the limit that may be chance is "cannot tell"; such a gain is "same", since nothing is lost.
    """
    # The whole interval must prove a loss; an unproved loss needs more sentences.
    if gain < -limit:
        return "worse" if high < 0 else "cannot tell"
    return "better" if gain > limit and low > 0 else "same"


def _of_sacrebleu(name: str, metric: Any) -> Measure:
    # sacrebleu's own paired tests use the same two private functions. They return only a p-value,
    # but the verdict needs the interval of the difference.
    def statistics(texts: Sequence[str], sentences: Sequence[Sentence]) -> Statistics:
        references = [[sentence.target for sentence in sentences]]
        rows = metric._extract_corpus_statistics(texts, references)  # noqa: SLF001
        return np.asarray(rows, np.float64)

    def score(total: Statistics) -> float:
        return float(metric._compute_score_from_stats(total.tolist()).score)  # noqa: SLF001

    return Measure(name, statistics, score)


def _terms(texts: Sequence[str], sentences: Sequence[Sentence]) -> Statistics:
    pairs = zip(texts, sentences, strict=True)
    return np.asarray([(s.found(text), len(s.terms)) for text, s in pairs], np.float64)


def _right(total: Statistics) -> float:
    # A draw may contain only utterances without words.
    return float(100 - 100 * total[0] / max(1.0, total[1]))


def _share(total: Statistics) -> float:
    return float(100 * total[0] / total[1]) if total[1] else 100.0  # no terms: none is lost


MEASURES = (
    _of_sacrebleu("BLEU", BLEU()),
    _of_sacrebleu("chrF++", CHRF(word_order=2)),
    Measure(TERMS, _terms, _share),
)
