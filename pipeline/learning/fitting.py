"""Fit what tells wrong captions from right ones to the decisions of people.

A third of the decisions is held out: what is fitted is used only if it does better there. For the
judge of finals, one that a person approved is right, one that was corrected or rejected is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.church.fidelity.doubt import DoubtModel, Evidence, dumped, gathered, of_texts, row_of
from pipeline.church.fidelity.given_text import given
from pipeline.core.errors import LearningError, writing
from pipeline.core.files import write_whole
from pipeline.records.utterance import UtteranceRecord
from pipeline.review.store import read_decisions
from pipeline.session.reader import Session

T = TypeVar("T")

ENOUGH = 100
"""Fewest decisions that something is fitted to."""
FEWEST = 20
"""Of each kind: right and wrong."""
USUAL = 20
"""Number of probabilities that represent a service which has just begun."""


def is_enough(decided: Sequence[tuple[T, bool]]) -> bool:
    """Whether there are enough decisions (value, is wrong), and of both kinds."""
    wrong = sum(is_wrong for _, is_wrong in decided)
    # Both kinds: of a hundred right ones nothing can be learnt about wrong ones.
    return len(decided) >= ENOUGH and min(wrong, len(decided) - wrong) >= FEWEST


def parted(decided: Sequence[tuple[T, bool]]) -> tuple[list[tuple[T, bool]], list[tuple[T, bool]]]:
    """Return the decisions to fit to, and the third of each kind that is held out."""
    # Sorted by kind first, so that every third is a third of the wrong ones, too.
    ordered = sorted(decided, key=lambda each: each[1])
    return [each for n, each in enumerate(ordered) if n % 3], ordered[::3]


def fit(evidence: Sequence[Evidence], wrong: Sequence[bool], ridge: float = 1.0) -> DoubtModel:
    """Fit a judge by Newton's method; `ridge` keeps weights small. Both outcomes must occur.

    What is never known gets no weight.
    """
    rows = np.stack([row_of(each) for each in evidence])
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(counts, 1)
    # The unknown becomes the mean: it moves no judgement either way.
    centred = np.where(known, rows - mean, 0.0)
    scale = np.sqrt((centred**2).sum(axis=0) / np.maximum(counts, 1))
    # A feature that never varies would be divided by 0.
    scale = np.where(scale > 0, scale, 1.0)
    x = np.hstack([centred / scale, np.ones((len(rows), 1))])
    y = np.array(wrong, float)
    weights = np.zeros(x.shape[1])
    # The bias is not kept small: it says how common mistakes are, which may be very little.
    penalty = np.diag([ridge] * (x.shape[1] - 1) + [1e-9])
    # Limited: of classes that a line parts the steps may never get small.
    for _ in range(30):
        # Clipped: with classes that a line parts, weights grow until exp overflows.
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (p - y) + penalty @ weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x + penalty
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if float(np.abs(step).max()) < 1e-6:
            break
    p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
    return DoubtModel(
        mean=_rounded(mean),
        scale=_rounded(scale),
        weights=_rounded(weights[:-1]),
        bias=round(float(weights[-1]), 4),
        usual=_rounded(np.quantile(p, (np.arange(USUAL) + 0.5) / USUAL)),
    )


def auc(scores: Sequence[float], wrong: Sequence[bool]) -> float:
    """Return how often a wrong one of a pair has the higher score; ties count half. 0..1."""
    order = np.argsort(np.array(scores), kind="stable")
    values = np.array(scores)[order]
    ranks = np.empty(len(values))
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[end] != values[start]:
            # Equal values share the mean of their ranks, which counts a tie as half.
            ranks[start:end] = (start + 1 + end) / 2
            start = end
    is_wrong = np.array(wrong)[order]
    positive, negative = int(is_wrong.sum()), int((~is_wrong).sum())
    # Without a pair nothing can be told apart, which is what chance would do.
    if not (positive and negative):
        return 0.5
    # Mann and Whitney's U: the ranks of the wrong ones, less those that they have among themselves.
    total = float(ranks[is_wrong].sum())
    return (total - positive * (positive + 1) / 2) / (positive * negative)


def lowest_bar(decided: Sequence[tuple[float, bool]], most_wrong: float) -> float | None:
    """Return the lowest score from which on at most such a share is wrong; None if there is none.

    `decided`: score, and whether it is wrong.
    """
    ranked = sorted(decided, key=lambda each: -each[0])
    wrong, found = 0, None
    for count, (score, is_wrong) in enumerate(ranked, 1):
        wrong += is_wrong
        # Of equal scores all pass or none.
        ends = count == len(ranked) or ranked[count][0] < score
        # The last one that holds: further down more pass, and the share may fall again.
        if ends and wrong <= most_wrong * count:
            found = score
    return found


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """A new judge, and how well it and the one in use tell wrong from right on held-out finals."""

    model: DoubtModel
    reviewed: int
    wrong: int
    auc: float
    auc_in_use: float

    @property
    def is_better(self) -> bool:
        """Whether it is worth using."""
        # Held-out ones only, for both: what a judge was fitted to it always knows better.
        return self.auc > self.auc_in_use


def reviewed(folders: Iterable[Path]) -> list[tuple[Evidence, bool]]:
    """Return the evidence of every final that a person judged, and whether it was wrong.

    Raises SessionError.
    """
    found: list[tuple[Evidence, bool]] = []
    for folder in folders:
        decisions = read_decisions(folder)
        for record in Session(folder).shown:
            decided = decisions.get(record.id)
            # Only finals with an opinion: others the judge does not see in a service.
            if decided and decided.outcome != "open" and record.opinion is not None:
                found.append((evidence_of_record(record), decided.outcome != "approved"))
    return found


def evidence_of_record(record: UtteranceRecord) -> Evidence:
    """Return what a session's record knows of a final."""
    final = record.final
    return gathered(
        record.opinion,
        final.avg_logprob if final else None,
        record.words,
        of_texts(
            given(record.text, record.lang), record.lang, final.text if final else "", record.checks
        ),
    )


def fit_judge(decided: Sequence[tuple[Evidence, bool]], in_use: DoubtModel) -> FittedJudge:
    """Fit a judge to decisions. Raises LearningError where there are too few of a kind."""
    wrong = sum(is_wrong for _, is_wrong in decided)
    if not is_enough(decided):
        raise LearningError(
            "judge-too-few",
            f"{len(decided)} finals with the quick translator's opinion are reviewed, {wrong} of "
            f"them wrong; {ENOUGH} are needed, {FEWEST} right and {FEWEST} wrong.",
            "Review more captions: `stark-translate review last`.",
        )
    learnt, held_out = parted(decided)
    model = fit([each for each, _ in learnt], [is_wrong for _, is_wrong in learnt])
    told = [is_wrong for _, is_wrong in held_out]
    mine, theirs = (
        round(auc([judge.probability(each) for each, _ in held_out], told), 4)
        for judge in (model, in_use)
    )
    return FittedJudge(model, len(decided), wrong, mine, theirs)


def write_judge(model: DoubtModel, file: Path) -> None:
    """Put a judge in use from the next start on. Raises LearningError."""
    with writing(file, LearningError, "judge-unwritable"):
        write_whole(file, dumped(model).encode())
