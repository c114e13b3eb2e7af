"""Decide from the measures of two models whether to deploy the new one; explain it plainly. Pure.

There are three rules. A set of fewer than 30 sentences decides nothing: the bootstrap of a single
sentence looks as certain as that of a thousand. On everyday speech and preaching that no church has
trained on, the lower end of the 95 % interval may be one point of chrF++ below the old model: "no
significant loss" can also mean too little data. Nothing else may be significantly worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.evaluation.paired_bootstrap import TERMS, Difference

Advice: TypeAlias = Literal["deploy", "keep"]
OWN_SERMONS = "own sermons"
OWN_SOUND = "own sound"
GENERAL = "gate, general"
PREACHING = "preaching"
VOICES = "voices"
MEANING = "meaning, %"
WORDS_HEARD = "100 - WER"

ENOUGH = 30
"""Minimum number of sentences or utterances with which a set decides."""
MOST_LOSS = 1.0
"""Points of chrF++ by which the lower end of the interval may be below the old model."""
_OWN = (OWN_SERMONS, OWN_SOUND)
# Sets that no training mix contains: a church's own set would not show a loss there.
_GUARDED = (GENERAL, PREACHING)
# Only one measure: with several, chance alone would often block a good model.
_GUARD = "chrF++"
_SETS = {
    OWN_SERMONS: "your own sermons",
    OWN_SOUND: "your own sound",
    GENERAL: "everyday speech",
    "gate, theological": "sentences full of church words",
    PREACHING: "preaching of other churches",
    "meaning": "hard sentences of preachers",
    VOICES: "voices of strangers",
}
_MEASURES = {
    _GUARD: "points of 100 (chrF++)",
    "BLEU": "points of 100 (BLEU)",
    TERMS: "of 100 church words",
    MEANING: "of 100 sentences with their meaning right",
    WORDS_HEARD: "of 100 words heard right",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measure of one set: the scores of the old and the new model, and their interval."""

    set: str
    measure: str
    count: int
    """Sentences or utterances."""
    difference: Difference

    @property
    def decides(self) -> bool:
        """Whether the set is large enough; the few recordings of voices have many words."""
        return self.set == VOICES or self.count >= ENOUGH

    @property
    def speaks_against(self) -> bool:
        """Whether this measure forbids the new model."""
        return self.is_unsure or (self.decides and self.difference.verdict == "worse")

    @property
    def is_unsure(self) -> bool:
        """Whether a set that no church has trained on may have lost more than allowed."""
        guarded = self.set in _GUARDED and self.measure == _GUARD
        return guarded and (not self.decides or self.difference.low < -MOST_LOSS)


def advise(measured: Sequence[Measured]) -> tuple[Advice, tuple[str, ...]]:
    """Return what to do, and the figures that support it."""
    # One is enough: a gain elsewhere does not make up for a loss that listeners notice.
    against = [each for each in measured if each.speaks_against]
    grounds = against or [each for each in measured if each.decides and is_better(each)]
    reasons = tuple(
        f"{each.measure} of {each.set} {each.difference.difference:+.1f}"
        f" ({each.difference.low:+.1f} to {each.difference.high:+.1f})"
        for each in grounds
    )
    # Without any measure keep the model in use, which has at least been used.
    # The voices of strangers show a loss only: they say nothing of what the church gains.
    is_measured = any(each.decides and each.set != VOICES for each in measured)
    return ("keep" if against or not is_measured else "deploy"), reasons


def is_better(measured: Measured) -> bool:
    """Whether a gain is more than chance."""
    return measured.difference.verdict == "better"


def in_words(measured: Sequence[Measured]) -> list[str]:
    """Return the verdict in sentences that need no knowledge of statistics."""
    advice, _ = advise(measured)
    gains = [each for each in measured if each.decides and is_better(each)]
    if advice == "keep":
        lines = ["Keep the model that you have."]
    elif gains:
        lines = ["Use the new model: it is better, and nothing is lost that matters."]
    else:
        lines = ["The new model does no harm. It is not measurably better either."]
    for each in [each for each in measured if each.speaks_against and each.decides] + gains:
        change = each.difference
        of, unit = _SETS.get(each.set, each.set), _MEASURES.get(each.measure, each.measure)
        if is_better(each):
            lines.append(f"Better: {of}, by {change.difference:.1f} {unit}.")
        elif change.verdict == "worse":
            lines.append(f"With the new one {of} got worse by {-change.difference:.1f} {unit}.")
        else:
            lines.append(
                f"With the new one {of} may be worse by up to {-change.low:.1f} {unit}: "
                f"that is more than {MOST_LOSS:g}."
            )
    # Once per set: all its measures are of the same sentences and would say the same.
    few = {each.set: each.count for each in measured if not each.decides}
    return lines + [
        f"Of {_SETS.get(name, name)} only {count} {'was' if count == 1 else 'were'} measured: "
        f"they count from {ENOUGH} on." + (" Review more captions." if name in _OWN else "")
        for name, count in few.items()
    ]


def table_rows(measured: Sequence[Measured]) -> list[Mapping[str, str]]:
    """Return the measures as rows of a table for people."""
    return [
        {
            "set": each.set,
            "measure": each.measure,
            "of": str(each.count),
            "old": f"{each.difference.a:.1f}",
            "new": f"{each.difference.b:.1f}",
            "difference": f"{each.difference.difference:+.1f}",
            "95 %": f"{each.difference.low:+.1f} to {each.difference.high:+.1f}",
            "verdict": _row_verdict(each),
        }
        for each in measured
    ]


def _row_verdict(measured: Measured) -> str:
    verdict = measured.difference.verdict
    if not measured.decides:
        return "too few"
    if measured.is_unsure and verdict != "worse":
        return "not sure"
    return verdict if verdict in ("better", "worse") else "no difference"
