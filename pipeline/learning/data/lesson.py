"""What the last review has taught, in plain words, for whoever begins the next one."""

from __future__ import annotations

from pipeline.learning.data.folder import DataFolder
from pipeline.learning.data.terms import confusions


def last_lesson(data: DataFolder) -> str:
    """Return a sentence on the session that was reviewed last, "" before the first one.

    Raises LearningError.
    """
    kept = [name for name, entry in data.ledger().items() if not entry.removed]
    told = [each for name in kept if (each := data.harvest(name)).reviewed_utc]
    if not told:
        return ""
    last = max(told, key=lambda each: each.reviewed_utc)
    sentences = sum(pair.source == "review" and pair.status == "accepted" for pair in last.pairs)
    heard = len(confusions(last.corrected))
    corrections = len(last.corrected)
    return (
        f"Last time: {corrections} {_plural('correction', corrections)}. They taught "
        f"{sentences} {_plural('sentence', sentences)} and {heard} misheard "
        f"{_plural('word', heard)}."
    )


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
