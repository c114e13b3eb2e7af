"""The judge of finals fitted to what people decided in reviews (`pipeline.church.fidelity.doubt`).

A final that a person approved is right, one that was corrected or rejected is wrong. A third of
the decisions is held out: the new judge is used only if it does better there than the one in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.church.fidelity.doubt import DoubtModel, Evidence, dumped, gathered, of_texts
from pipeline.church.fidelity.given_text import given
from pipeline.core.errors import LearningError, writing
from pipeline.core.files import write_whole
from pipeline.learning.fitting import ENOUGH, FEWEST, auc, fit, is_enough, parted
from pipeline.records.utterance import UtteranceRecord
from pipeline.review.store import read_decisions
from pipeline.session.reader import Session


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
        of_texts(given(record.text, record.lang), final.text if final else "", record.checks),
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
