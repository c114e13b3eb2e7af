"""What measures of two models come to: whether to deploy the new one, and why in plain words. Pure.

Three rules. A set of fewer than 30 sentences decides nothing: the bootstrap of one sentence is as
sure as that of a thousand. Everyday speech and preaching that no church has trained on must be
as good, but for one point of chrF++ at the lower end of the 95 % interval: "no significant loss"
can also be said where too little was measured. And nothing else may be significantly worse.
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
"""Sentences or utterances from which on a set decides."""
MOST_LOSS = 1.0
"""Points of chrF++ that the lower end of the interval may lie below the old model."""
_OWN = (OWN_SERMONS, OWN_SOUND)
# Sets that no training mix contains: what is lost there no church would notice in its own.
_GUARDED = (GENERAL, PREACHING)
# One measure of them: with several, chance alone would often forbid a good model.
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
    """One measure of one set: the old model's score, the new one's, and what chance explains."""

    set: str
    measure: str
    count: int
    """Sentences or utterances."""
    difference: Difference

    @property
    def decides(self) -> bool:
        """Whether there are sentences enough; the few recordings of strangers have many words."""
        return self.set == VOICES or self.count >= ENOUGH

    @property
    def speaks_against(self) -> bool:
        """Whether the new model must not be used because of this."""
        return self.is_unsure or (self.decides and self.difference.verdict == "worse")

    @property
    def is_unsure(self) -> bool:
        """Whether speech that no church has trained on may have lost more than is allowed."""
        guarded = self.set in _GUARDED and self.measure == _GUARD
        return guarded and (not self.decides or self.difference.low < -MOST_LOSS)


def advise(measured: Sequence[Measured]) -> tuple[Advice, tuple[str, ...]]:
    """Return what to do, and the figures that speak for it."""
    # One is enough: a gain elsewhere does not make up for a loss that listeners hear.
    against = [each for each in measured if each.speaks_against]
    told = against or [each for each in measured if each.decides and is_better(each)]
    reasons = tuple(
        f"{each.measure} of {each.set} {each.difference.difference:+.1f}"
        f" ({each.difference.low:+.1f} to {each.difference.high:+.1f})"
        for each in told
    )
    # Nothing measured is no praise: the model in use has at least been in use.
    is_measured = any(each.decides for each in measured)
    return ("keep" if against or not is_measured else "deploy"), reasons


def is_better(measured: Measured) -> bool:
    """Whether a gain is more than chance."""
    return measured.difference.verdict == "better"


def in_words(measured: Sequence[Measured]) -> list[str]:
    """Return the verdict in sentences that need no knowledge of statistics."""
    advice, _ = advise(measured)
    gains = [each for each in measured if each.decides and is_better(each)]
    if advice == "deploy":
        head = "Use the new model: it is better, and nothing is lost that matters."
        if not gains:
            head = "The new model does no harm. It is not measurably better either."
        told = [head]
    else:
        told = ["Keep the model that you have."]
    against = [each for each in measured if each.speaks_against]
    for each in against:
        change = each.difference
        if not each.decides:
            continue
        of, unit = _SETS.get(each.set, each.set), _MEASURES.get(each.measure, each.measure)
        if change.verdict == "worse":
            told.append(f"With the new one {of} got worse by {-change.difference:.1f} {unit}.")
        else:
            told.append(
                f"With the new one {of} may be worse by up to {-change.low:.1f} {unit}: "
                f"that is more than {MOST_LOSS:g}."
            )
    for each in gains:
        of, unit = _SETS.get(each.set, each.set), _MEASURES.get(each.measure, each.measure)
        told.append(f"Better: {of}, by {each.difference.difference:.1f} {unit}.")
    # By set: its measures are all of the same sentences, and would say the same.
    few = {each.set: each.count for each in measured if not each.decides}
    return told + [
        f"Of {_SETS.get(name, name)} only {count} {'was' if count == 1 else 'were'} measured: "
        f"they count from {ENOUGH} on." + (" Review more captions." if name in _OWN else "")
        for name, count in few.items()
    ]


def table_rows(measured: Sequence[Measured]) -> list[Mapping[str, str]]:
    """Return the measures as rows that people read."""
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
