"""The limits of each measure of a translation, fitted to what people decided in reviews.

0.7 of one measure is not 0.7 of another: a translator's own probability, CometKiwi, the letters
that two translations share and what they mean lie in other places. A limit is where a tenth of
the translations that people approved would be flagged, and one in fifty rejected. A third of the
decisions is held out: new limits are used only if they tell wrong from right better there than
those in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError, writing
from pipeline.core.files import write_whole
from pipeline.learning.data.harvest import scored
from pipeline.learning.fitting import ENOUGH, FEWEST, is_enough, parted
from pipeline.protocol.codec import parse_json
from pipeline.records.quality import LIVE, AgreementBy, Limit, Measuring
from pipeline.review.store import read_decisions
from pipeline.session.reader import Session

OWN = "limits.json"
"""Beside the sessions: a church's own limits, by the measure's name."""
_FLAGGED, _REJECTED = 0.10, 0.02
"""Shares of the right ones."""
_AGREEMENTS = get_args(AgreementBy)
_LIMITS = TypeAdapter(dict[str, Limit])
Decided = tuple[float, bool]
"""The measure of a translation, and whether a person found it wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLimit:
    """New limits of a measure, and how they do on decisions that were held out."""

    measure: str
    limit: Limit
    reviewed: int
    wrong: int
    caught: float
    """Share of the wrong ones that are flagged, 0..1,"""
    marked: float
    """and of the right ones."""
    caught_in_use: float
    marked_in_use: float

    @property
    def is_better(self) -> bool:
        """Whether they tell wrong from right better than those in use (Youden's index)."""
        return self.caught - self.marked > self.caught_in_use - self.marked_in_use


def limits_in_use(directory: Path) -> Mapping[str, Limit]:
    """Return a church's own limits; none where there are none, or no readable ones."""
    try:
        return parse_json(_LIMITS, (directory / OWN).read_bytes())
    except (OSError, ProtocolError):
        return {}


def reviewed_measures(folders: Iterable[Path]) -> dict[str, list[Decided]]:
    """Return by measure what it said of each translation that a person judged.

    What `score` measured goes before what was measured live. Raises SessionError.
    """
    found: dict[str, list[Decided]] = {}
    for folder in folders:
        decisions, again = read_decisions(folder), scored(folder)
        for record in Session(folder).shown:
            decided, told = decisions.get(record.id), again.get(record.id)
            quality = told.quality if told else record.quality
            if decided is None or decided.outcome == "open" or quality is None:
                continue
            estimator = told.estimator if told else LIVE.estimate_by
            agreement_by = told.agreement_by if told else LIVE.agreement_by
            parts = {estimator: quality.parts.estimate, agreement_by: quality.parts.agreement}
            for name, value in parts.items():
                if value is not None:
                    found.setdefault(name, []).append((value, decided.outcome != "approved"))
    return found


def fit_limits(
    measures: Mapping[str, Sequence[Decided]], in_use: Mapping[str, Limit]
) -> list[FittedLimit]:
    """Fit the limits of each measure of which there is enough.

    Raises LearningError (limits-too-few) where there is none.
    """
    fitted = [
        _fit(name, decided, _limit(name, in_use))
        for name, decided in sorted(measures.items())
        if is_enough(decided)
    ]
    if not fitted:
        counts = ", ".join(f"{len(each)} of {name}" for name, each in sorted(measures.items()))
        raise LearningError(
            "limits-too-few",
            f"Too few translations are reviewed: {counts or 'none'}; {ENOUGH} are needed, "
            f"{FEWEST} right and {FEWEST} wrong.",
            "Review more captions: `stark-translate review last`.",
        )
    return fitted


def write_limits(fitted: Iterable[FittedLimit], directory: Path) -> None:
    """Put limits in use, beside those of other measures. Raises LearningError."""
    limits = dict(limits_in_use(directory)) | {each.measure: each.limit for each in fitted}
    with writing(directory / OWN, LearningError, "limits-unwritable"):
        write_whole(directory / OWN, orjson.dumps(limits, option=orjson.OPT_APPEND_NEWLINE))


def _fit(name: str, decided: Sequence[Decided], in_use: Limit) -> FittedLimit:
    learnt, held_out = parted(decided)
    right = sorted(value for value, is_wrong in learnt if not is_wrong)
    # In all of these measures low is bad: the limits lie at the low end of the right ones.
    limit = Limit(*(round(right[int(len(right) * share)], 4) for share in (_FLAGGED, _REJECTED)))
    return FittedLimit(
        measure=name,
        limit=limit,
        reviewed=len(decided),
        wrong=sum(is_wrong for _, is_wrong in decided),
        caught=_flagged(limit, held_out, wrong=True),
        marked=_flagged(limit, held_out, wrong=False),
        caught_in_use=_flagged(in_use, held_out, wrong=True),
        marked_in_use=_flagged(in_use, held_out, wrong=False),
    )


def _limit(name: str, in_use: Mapping[str, Limit]) -> Limit:
    if name in _AGREEMENTS:
        return in_use.get(name, LIVE.agreement)
    return Measuring(estimate_by=name, limits=in_use).estimate


def _flagged(limit: Limit, decided: Sequence[Decided], *, wrong: bool) -> float:
    """Return the share of the wrong ones, or of the right ones, that a limit flags."""
    told = [limit.passed(value) is not None for value, is_wrong in decided if is_wrong == wrong]
    return round(sum(told) / max(1, len(told)), 4)
