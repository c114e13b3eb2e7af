"""The summary of a session, counted from its records. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from pipeline.core.percentiles import nearest_rank
from pipeline.core.types import Check
from pipeline.dictionary.inflection import pattern
from pipeline.records.events import FaultEvent, Record, ResumedEvent, SongEvent
from pipeline.records.health import HealthRecord
from pipeline.records.quality import Decision, Exclusion, Flag
from pipeline.records.utterance import UtteranceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TermCount:
    """Counts of one glossary entry, over the captions of a session in which it was said."""

    seen: int
    """Captions in which it was said."""
    right: int
    """Captions whose translation had an approved rendering by itself."""
    repaired: int
    """Captions into whose translation an approved rendering was put."""
    refused: int
    """Captions without one: its place was unknown, or the translator objected."""
    consistency: float | None
    """Share of the most common rendering among all that were shown, 0..1; None if none was."""


# A separate class, because the report makes the same counts after the service.
class TermTally:
    """Counts the church words of a session's captions."""

    def __init__(self) -> None:
        # Separate from the renderings: a term that was not placed has an outcome, but no rendering.
        self._outcomes: dict[str, Counter[str]] = {}
        self._renderings: dict[str, Counter[str]] = {}

    def add(self, checks: Iterable[Check], lang: str) -> None:
        """Count the checks of one caption in the language `lang`."""
        for check in checks:
            # References, numbers and negations are checks too, but not church words.
            if not check.term:
                continue
            self._outcomes.setdefault(check.term, Counter())[check.outcome] += 1
            if check.outcome != "doubtful":
                # Singular and plural are one rendering: the pattern of both is the same.
                rendering = pattern(check.written, lang)
                self._renderings.setdefault(check.term, Counter())[rendering] += 1

    @property
    def counts(self) -> dict[str, TermCount]:
        """The counts, with the entries in alphabetical order."""
        return {term: self._count(term) for term in sorted(self._outcomes)}

    def _count(self, term: str) -> TermCount:
        outcomes, renderings = self._outcomes[term], self._renderings.get(term, Counter())
        # From all shown renderings, repaired or not: readers see one word or several either way.
        commonest = max(renderings.values(), default=0)
        return TermCount(
            seen=outcomes.total(),
            right=outcomes["right"],
            repaired=outcomes["repaired"],
            refused=outcomes["doubtful"],
            consistency=round(commonest / renderings.total(), 4) if renderings else None,
        )


# In the order in which a caption passes them; tables use this order.
STAGES = {
    "voice detector's wait": "vad_wait_ms",
    "recognizer, waiting": "stt_busy_ms",
    "recognizer": "stt_ms",
    "quick translator": "partial_ms",
    "final translator, waiting": "final_busy_ms",
    "final translator": "final_ms",
    "everything else": "overhead_ms",
}
"""The parts of a caption's latency, and the record field of each."""
SHORT_STAGES = {
    "pause": "vad_wait_ms",
    "stt": "stt_ms",
    "partial": "partial_ms",
    "final": "final_ms",
    "rest": "overhead_ms",
}
"""The same with short names and without waiting times, for one line of a terminal."""

TIMES = (
    *STAGES.values(),
    "held_ms",
    "start_to_first_text_ms",
    "last_syllable_to_partial_ms",
    "last_syllable_to_final_ms",
)
"""Fields of an utterance record whose percentiles are in the summary."""


# In Silero's blocks of 32 ms in the range of eager_ms and silence_ms, then wider.
BINS_MS = (64, 96, 128, 160, 200, 300, 400, 600, 1000, 2000)
"""Start of each bin; a bin ends where the next one starts, and the last one has no end."""

SPLIT_MS = 1000
"""An utterance that begins within this time after another may be the rest of its sentence."""

Place: TypeAlias = Literal["inside", "between"]
"""Silences inside an utterance, and those between two."""


class PauseHistogram:
    """Counts silences, so that the end of an utterance can be tuned."""

    def __init__(self) -> None:
        # By bin: a single pause has no meaning, and the summary stays short.
        self._counts: dict[Place, Counter[int]] = {"inside": Counter(), "between": Counter()}

    def add(self, record: UtteranceRecord) -> None:
        """Count the silences inside an utterance and before it."""
        for pause_ms in record.pauses_ms:
            self._count("inside", pause_ms)
        if record.pause_before_ms is not None:
            self._count("between", record.pause_before_ms)

    @property
    def counts(self) -> Mapping[Place, dict[str, int]]:
        """Number of silences by the start of their bin, in milliseconds."""
        return {
            # Empty bins too, so that the counts of several sessions can be added without a check.
            place: {str(least): counts[least] for least in BINS_MS}
            for place, counts in self._counts.items()
        }

    def _count(self, place: Place, pause_ms: int) -> None:
        at = bisect_right(BINS_MS, pause_ms) - 1
        # A pause before an utterance may be shorter than the first bin, if the utterance before
        # it was cut because of its length.
        self._counts[place][BINS_MS[max(at, 0)]] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """The distribution of one time over the utterances that have it."""

    # An utterance without this stage is not counted: a time of 0 would make the median look better.
    count: int
    """Number of these utterances."""
    p50_ms: float
    """Median."""
    p95_ms: float
    """95th percentile: 19 of 20 took no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRecord:
    """The session in figures, as the last line of diagnostics.jsonl and as summary.json."""

    type: Literal["summary"] = "summary"
    utc: str
    session: str
    """Name of the session and of its folder."""
    audio_s: float
    """Audio heard."""
    utterances: int
    """Utterances, including those whose text was filtered."""
    decisions: dict[Decision, int]
    """Captions by the decision about their pair."""
    flags: dict[Flag, int]
    """Utterances by flag."""
    excluded: dict[Exclusion, int]
    """Captions whose pair cannot be used, by reason."""
    filtered: dict[str, int]
    """Utterances that were not shown, by reason."""
    # Fields with a default were added later: summaries of earlier sessions lack them.
    lost_tails: int = 0
    """Utterances whose end was missing in the recognizer's first text."""
    recovered_tails: int = 0
    """Of those, the utterances whose end was recovered by decoding again."""
    eager: int = 0
    """Utterances whose final was prepared before the pause was long enough to end them."""
    cancelled_runs: int = 0
    """How often an eager run was discarded because speech resumed before the end."""
    reopened: int = 0
    """How often speech resumed after a final, so that the utterance went on."""
    splits: int = 0
    """Utterances that began less than a second after another: perhaps in the same sentence."""
    pauses: Mapping[Place, dict[str, int]] = field(default_factory=dict)
    """Silences inside utterances and between them, by the least milliseconds of their bin."""
    songs: int = 0
    """How often captions were held because of song."""
    song_s: float = 0.0
    """Seconds of audio that were detected as song."""
    corrections: dict[str, int]
    """How often each rule of the dictionary was applied."""
    terms: dict[str, TermCount] = field(default_factory=dict)
    """Counts of the glossary's church words, by the entry's id."""
    corrected_share: float | None
    """Share of the utterances in which a rule was applied, 0..1."""
    latencies: dict[str, Latency]
    """By the name of the utterance record's field."""
    faults: dict[str, int]
    """Faults by code."""
    dropped: dict[str, int]
    """Counts of what was dropped, by the kinds of a health record."""
    pairs: int
    """Lines of sermon_pairs.jsonl."""
    review: int
    """Lines of review_queue.jsonl."""
    utc_offset_min: int = 0
    """Minutes by which local time was ahead of `utc`."""


class DroppedTotals:
    """What a session dropped: each run of the daemon counts from 0, and the sum is told."""

    def __init__(self) -> None:
        self._before: Counter[str] = Counter()
        self._run: Mapping[str, int] = {}

    def add(self, record: Record | SummaryRecord) -> None:
        """Count a record; only health records and the start of another run matter."""
        if isinstance(record, HealthRecord):
            self._run = asdict(record.dropped)  # totals: the last record has all of its run
        elif isinstance(record, ResumedEvent):
            self._before.update(self._run)
            self._run = {}

    def counts(self, **newer: int) -> dict[str, int]:
        """Return the counts by kind; `newer` are counts of this run that are newer."""
        total = self._before.copy()
        total.update({**self._run, **newer})
        return dict(total)


# Counted while they are written, so that the end of a service need not read its file again.
class SummaryBuilder:
    """Counts the records of a session, one by one, as they are written."""

    def __init__(self) -> None:
        self._utterances = 0
        self._corrected = 0
        self._decisions: Counter[Decision] = Counter()
        self._flags: Counter[Flag] = Counter()
        self._excluded: Counter[Exclusion] = Counter()
        self._filtered: Counter[str] = Counter()
        self._lost_tails = 0
        self._recovered_tails = 0
        self._eager = self._cancelled_runs = self._reopened = self._splits = 0
        self._songs, self._song_s = 0, 0.0
        self._pauses = PauseHistogram()
        self._corrections: Counter[str] = Counter()
        self._terms = TermTally()
        self._faults: Counter[str] = Counter()
        # Eight bytes a value: exact percentiles of a long day need no more memory than that.
        self._times = {name: array("d") for name in TIMES}
        self._audio_s = 0.0
        self._utc_offset_min = 0
        self._dropped = DroppedTotals()

    def add(self, record: Record | SummaryRecord) -> None:
        """Count a record; kinds that are not in the summary are ignored."""
        self._dropped.add(record)
        match record:
            case UtteranceRecord():
                self._add_utterance(record)
            case HealthRecord():
                self._audio_s = record.audio_s  # a total: the last record has all
                # The last one counts: a session in the night of a clock change has two.
                self._utc_offset_min = record.utc_offset_min
            case SongEvent():
                # A song has two events, start and end; only the second one knows the length.
                self._songs += record.held
                self._song_s += 0.0 if record.held else record.to_s - record.from_s
            case FaultEvent():
                # By code: messages contain names and numbers, and would never be equal.
                self._faults[record.code] += 1
            case _:
                pass

    def summary(
        self, *, utc: str, session: str, dropped_records: int, pairs: int, review: int
    ) -> SummaryRecord:
        """Return the summary of all records counted so far."""
        return SummaryRecord(
            utc=utc,
            session=session,
            utc_offset_min=self._utc_offset_min,
            audio_s=self._audio_s,
            utterances=self._utterances,
            decisions=dict(self._decisions),
            flags=dict(self._flags),
            excluded=dict(self._excluded),
            filtered=dict(self._filtered),
            lost_tails=self._lost_tails,
            recovered_tails=self._recovered_tails,
            eager=self._eager,
            cancelled_runs=self._cancelled_runs,
            reopened=self._reopened,
            splits=self._splits,
            pauses=self._pauses.counts,
            songs=self._songs,
            song_s=round(self._song_s, 1),
            corrections=dict(self._corrections),
            terms=self._terms.counts,
            corrected_share=self._share(),
            latencies={name: _latency(known) for name, known in self._times.items() if known},
            faults=dict(self._faults),
            # The last health record may be ten seconds old; the recorder counts to the end.
            dropped=self._dropped.counts(records=dropped_records),
            pairs=pairs,
            review=review,
        )

    def _add_utterance(self, record: UtteranceRecord) -> None:
        self._utterances += 1
        self._corrected += bool(record.corrections)
        self._corrections.update(each.rule for each in record.corrections)
        # Filtered text has no translation whose words could be right or wrong.
        if record.final is not None:
            self._terms.add(record.checks, record.final.lang)
        self._flags.update(record.flags)
        self._lost_tails += record.lost_tail_s > 0
        self._recovered_tails += record.tail_recovered
        self._eager += record.eager
        self._cancelled_runs += record.cancelled_runs
        self._reopened += record.reopened
        self._splits += record.pause_before_ms is not None and record.pause_before_ms < SPLIT_MS
        self._pauses.add(record)
        if record.filtered:
            self._filtered[record.filtered] += 1
        if record.quality is not None:
            self._decisions[record.quality.decision] += 1
            self._excluded.update(record.quality.excluded)
        for name, known in self._times.items():
            took_ms = getattr(record, name)
            if took_ms is not None:
                known.append(took_ms)

    def _share(self) -> float | None:
        return round(self._corrected / self._utterances, 4) if self._utterances else None


def _latency(known: array[float]) -> Latency:
    # Sorted here and not at each record: records are added during a service.
    ordered = sorted(known)
    p50_ms, p95_ms = (nearest_rank(ordered, share) for share in (0.50, 0.95))
    return Latency(count=len(known), p50_ms=p50_ms, p95_ms=p95_ms)
