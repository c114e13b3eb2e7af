"""Fit the model that separates wrong captions from right ones to the decisions of reviewers.

A third of the decisions is held out: a fitted model is used only if it does better there. For the
judge of finals, an approved final is right, and a corrected or rejected one is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.church.fidelity.doubt import DoubtModel, Evidence, dumped, gathered, of_texts, row_of
from pipeline.core.errors import LearningError, SessionError, writing
from pipeline.core.files import write_whole
from pipeline.records.utterance import UtteranceRecord
from pipeline.review.store import read_decisions
from pipeline.session.reader import Session
from pipeline.session.training_pairs import operator_edits

T = TypeVar("T")

ENOUGH = 100
"""Minimum number of decisions for a fit."""
FEWEST = 20
"""Minimum of each kind, right and wrong."""
USUAL = 20
"""Number of probabilities that represent a service that has just begun."""


def is_enough(decided: Sequence[tuple[T, bool]]) -> bool:
    """Whether there are enough decisions (value, is wrong), and of both kinds."""
    wrong = sum(is_wrong for _, is_wrong in decided)
    # Both kinds: a hundred right ones teach nothing about wrong ones.
    return len(decided) >= ENOUGH and min(wrong, len(decided) - wrong) >= FEWEST


def parted(decided: Sequence[tuple[T, bool]]) -> tuple[list[tuple[T, bool]], list[tuple[T, bool]]]:
    """Return the decisions to fit to, and the held-out third of each kind."""
    # Sorted by kind, so that every third one gives a third of each kind.
    ordered = sorted(decided, key=lambda each: each[1])
    return [each for n, each in enumerate(ordered) if n % 3], ordered[::3]


def fit(evidence: Sequence[Evidence], wrong: Sequence[bool], ridge: float = 1.0) -> DoubtModel:
    """Fit a judge by Newton's method; `ridge` keeps weights small. Both outcomes must occur.

    A feature that is never known gets no weight.
    """
    rows = np.stack([row_of(each) for each in evidence])
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(counts, 1)
    # An unknown value becomes the mean, so it has no effect on the judgement.
    centred = np.where(known, rows - mean, 0.0)
    scale = np.sqrt((centred**2).sum(axis=0) / np.maximum(counts, 1))
    # A feature that never varies would be divided by 0.
    scale = np.where(scale > 0, scale, 1.0)
    x = np.hstack([centred / scale, np.ones((len(rows), 1))])
    y = np.array(wrong, float)
    weights = np.zeros(x.shape[1])
    # No ridge on the bias: it reflects how common mistakes are, which may be very rare.
    penalty = np.diag([ridge] * (x.shape[1] - 1) + [1e-9])
    # Limited: with linearly separable classes the steps may never become small.
    for _ in range(30):
        # Clipped: with linearly separable classes the weights grow until exp overflows.
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
    """Return how often the wrong one of a pair has the higher score; ties count half. 0..1."""
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
    # Without a pair, return the value of chance.
    if not (positive and negative):
        return 0.5
    # Mann and Whitney's U: the ranks of the wrong ones, minus their ranks among themselves.
    total = float(ranks[is_wrong].sum())
    return (total - positive * (positive + 1) / 2) / (positive * negative)


def lowest_bar(decided: Sequence[tuple[float, bool]], most_wrong: float) -> float | None:
    """Return the lowest score at or above which at most the share `most_wrong` is wrong, or None.

    `decided` contains each score, and whether it is wrong.
    """
    ranked = sorted(decided, key=lambda each: -each[0])
    wrong, found = 0, None
    for count, (score, is_wrong) in enumerate(ranked, 1):
        wrong += is_wrong
        # Equal scores pass together or not at all.
        ends = count == len(ranked) or ranked[count][0] < score
        # The last one that fits: with more captions further down the share may fall again.
        if ends and wrong <= most_wrong * count:
            found = score
    return found


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """A new judge, and how well it and the one in use separate held-out finals."""

    model: DoubtModel
    reviewed: int
    wrong: int
    auc: float
    auc_in_use: float

    @property
    def is_better(self) -> bool:
        """Whether it is worth using."""
        # Both on held-out finals only: a judge is always better on those it was fitted to.
        return self.auc > self.auc_in_use


def reviewed(
    folders: Iterable[Path], *, demos: bool, on_skipped: Callable[[Path, SessionError], None]
) -> list[tuple[Evidence, bool]]:
    """Return the evidence of every reviewed final, and whether it was wrong.

    A session that cannot be read is left out, and `on_skipped` gets the reason; one of the demo
    counts only with `demos`.
    """
    found: list[tuple[Evidence, bool]] = []
    for folder in folders:
        try:
            found += _reviewed(folder, demos=demos)
        except SessionError as error:
            on_skipped(folder, error)
    return found


def _reviewed(folder: Path, *, demos: bool) -> list[tuple[Evidence, bool]]:
    session = Session(folder)
    decisions = read_decisions(folder)
    if not decisions or (session.is_demo and not demos):
        return []
    # A reviewer has judged the operator's version, and the evidence is about the one before.
    edits = operator_edits(session.messages)
    found: list[tuple[Evidence, bool]] = []
    for record in session.shown:
        decided = decisions.get(record.id) if record.id not in edits else None
        # Only finals with an opinion: in a service the judge sees no others.
        if decided and decided.outcome != "open" and record.opinion is not None:
            found.append((evidence_of_record(record), decided.outcome != "approved"))
    return found


def evidence_of_record(record: UtteranceRecord) -> Evidence:
    """Return the evidence about a final in a session's record."""
    final = record.final
    return gathered(
        record.opinion,
        final.avg_logprob if final else None,
        record.words,
        of_texts(record.text, record.lang, final.text if final else "", record.checks),
    )


def fit_judge(decided: Sequence[tuple[Evidence, bool]], in_use: DoubtModel) -> FittedJudge:
    """Fit a judge to decisions. Raises LearningError if there are too few of a kind."""
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
    wrong_held_out = [is_wrong for _, is_wrong in held_out]
    mine, theirs = (
        round(auc([judge.probability(each) for each, _ in held_out], wrong_held_out), 4)
        for judge in (model, in_use)
    )
    return FittedJudge(model, len(decided), wrong, mine, theirs)


def write_judge(model: DoubtModel, file: Path) -> None:
    """Save a judge, which is used from the next start on. Raises LearningError."""
    with writing(file, LearningError, "judge-unwritable"):
        write_whole(file, dumped(model).encode())
