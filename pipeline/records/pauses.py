"""Histogram of a service's silences, from which the end of an utterance can be tuned. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

from pipeline.records.utterance import UtteranceRecord

# In Silero's blocks of 32 ms where eager_ms and silence_ms lie, then wider.
BINS_MS = (64, 96, 128, 160, 200, 300, 400, 600, 1000, 2000)
"""Where the bins begin; each ends where the next begins, the last has no end."""

SPLIT_MS = 1000
"""An utterance that begins sooner after another may be the rest of its sentence."""

Place: TypeAlias = Literal["inside", "between"]
"""Silences inside an utterance, and those between two."""


class PauseHistogram:
    """Counts silences."""

    def __init__(self) -> None:
        self._counts: dict[Place, Counter[int]] = {"inside": Counter(), "between": Counter()}

    def add(self, record: UtteranceRecord) -> None:
        """Count the silences inside an utterance and before it."""
        for pause_ms in record.pauses_ms:
            self._count("inside", pause_ms)
        if record.pause_before_ms is not None:
            self._count("between", record.pause_before_ms)

    @property
    def counts(self) -> Mapping[Place, dict[str, int]]:
        """How many there were by the beginning of their bin, in milliseconds."""
        return {
            place: {str(least): counts[least] for least in BINS_MS}
            for place, counts in self._counts.items()
        }

    def _count(self, place: Place, pause_ms: int) -> None:
        at = bisect_right(BINS_MS, pause_ms) - 1
        # A pause before an utterance may be shorter than the first bin, where speech was cut for
        # its length.
        self._counts[place][BINS_MS[max(at, 0)]] += 1
