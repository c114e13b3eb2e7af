"""Counts a session's records up into its summary. Pure."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.core.percentiles import nearest_rank
from pipeline.records.events import Latency, SummaryRecord
from pipeline.records.quality import Decision, Exclusion, Flag

TIMES = (
    "vad_wait_ms",
    "stt_busy_ms",
    "stt_ms",
    "partial_ms",
    "final_busy_ms",
    "final_ms",
    "overhead_ms",
    "start_to_first_text_ms",
    "last_syllable_to_partial_ms",
    "last_syllable_to_final_ms",
)
"""Fields of an utterance record whose spread is told."""


class Tally:
    """Takes a session's records one by one."""

    def __init__(self) -> None:
        self._utterances = 0
        self._corrected = 0
        self._decisions: Counter[Decision] = Counter()
        self._flags: Counter[Flag] = Counter()
        self._excluded: Counter[Exclusion] = Counter()
        self._filtered: Counter[str] = Counter()
        self._lost_tails = 0
        self._recovered_tails = 0
        self._corrections: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._times = {name: array("d") for name in TIMES}
        self._audio_s = 0.0
        self._dropped: Mapping[str, int] = {}

    def utterance(self, record: Mapping[str, Any]) -> None:
        """Count an utterance's record (pipeline.records.utterance)."""
        self._utterances += 1
        self._corrected += bool(record["corrections"])
        self._corrections.update(each["rule"] for each in record["corrections"])
        self._flags.update(record["flags"])
        self._lost_tails += record["lost_tail_s"] > 0
        self._recovered_tails += record["tail_recovered"]
        if record["filtered"]:
            self._filtered[record["filtered"]] += 1
        if record["quality"] is not None:
            self._decisions[record["quality"]["decision"]] += 1
            self._excluded.update(record["quality"]["excluded"])
        for name, known in self._times.items():
            if record[name] is not None:
                known.append(record[name])

    def health(self, record: Mapping[str, Any]) -> None:
        """Note what the daemon has heard and dropped so far."""
        self._audio_s = record["audio_s"]
        self._dropped = record["dropped"]

    def fault(self, code: str) -> None:
        """Count a fault."""
        self._faults[code] += 1

    def summary(
        self, *, utc: str, session: str, dropped_records: int, pairs: int, review: int
    ) -> SummaryRecord:
        """Return what it all came to."""
        return SummaryRecord(
            utc=utc,
            session=session,
            audio_s=self._audio_s,
            utterances=self._utterances,
            decisions=dict(self._decisions),
            flags=dict(self._flags),
            excluded=dict(self._excluded),
            filtered=dict(self._filtered),
            lost_tails=self._lost_tails,
            recovered_tails=self._recovered_tails,
            corrections=dict(self._corrections),
            corrected_share=self._share(),
            latencies={name: _latency(known) for name, known in self._times.items() if known},
            faults=dict(self._faults),
            dropped={**self._dropped, "records": dropped_records},
            pairs=pairs,
            review=review,
        )

    def _share(self) -> float | None:
        return round(self._corrected / self._utterances, 4) if self._utterances else None


def _latency(known: array[float]) -> Latency:
    ordered = sorted(known)
    p50_ms, p95_ms = (nearest_rank(ordered, share) for share in (0.50, 0.95))
    return Latency(count=len(known), p50_ms=p50_ms, p95_ms=p95_ms)
