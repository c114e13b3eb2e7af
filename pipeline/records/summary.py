"""The summary of a session, counted from its records. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from pipeline.core.percentiles import nearest_rank
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


def term_counts(records: Iterable[UtteranceRecord]) -> dict[str, TermCount]:
    """Return the counts of the church words in a session's captions, in alphabetical order."""
    # Separate from the renderings: a term that was not placed has an outcome, but no rendering.
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    renderings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        # Filtered text has no translation whose words could be right or wrong.
        if record.final is None:
            continue
        for check in record.checks:
            # References, numbers and negations are checks too, but not church words.
            if check.term:
                outcomes[check.term][check.outcome] += 1
                if check.outcome != "doubtful":
                    # Singular and plural are one rendering: the pattern of both is the same.
                    renderings[check.term][pattern(check.written, record.final.lang)] += 1
    return {term: _term_count(outcomes[term], renderings[term]) for term in sorted(outcomes)}


def _term_count(outcomes: Counter[str], renderings: Counter[str]) -> TermCount:
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


def pause_counts(records: Sequence[UtteranceRecord]) -> dict[Place, dict[str, int]]:
    """Return the number of silences by the start of their bin, so that pauses can be tuned."""
    silences: dict[Place, list[int]] = {
        "inside": [ms for record in records for ms in record.pauses_ms],
        "between": [r.pause_before_ms for r in records if r.pause_before_ms is not None],
    }
    counts: dict[Place, dict[str, int]] = {}
    for place, found_ms in silences.items():
        # Empty bins too, so that the counts of several sessions can be added without a check.
        counts[place] = {str(least): 0 for least in BINS_MS}
        for pause_ms in found_ms:
            # A pause before an utterance may be shorter than the first bin, if the utterance
            # before it was cut because of its length.
            at = max(bisect_right(BINS_MS, pause_ms) - 1, 0)
            counts[place][str(BINS_MS[at])] += 1
    return counts


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


def dropped_totals(records: Iterable[Record], dropped_records: int | None = None) -> dict[str, int]:
    """Return what a session dropped, by kind: each run of the daemon counts from 0.

    `dropped_records` is the last run's count of records, if it is newer than the records.
    """
    total: Counter[str] = Counter()
    run: dict[str, int] = {}
    for record in records:
        if isinstance(record, HealthRecord):
            run = asdict(record.dropped)  # totals: the last record has all of its run
        elif isinstance(record, ResumedEvent):
            total.update(run)
            run = {}
    if dropped_records is not None:
        run["records"] = dropped_records
    total.update(run)
    return dict(total)


def summarized(
    records: Sequence[Record],
    *,
    utc: str,
    session: str,
    dropped_records: int,
    pairs: int,
    review: int,
) -> SummaryRecord:
    """Return the summary of a session's records."""
    utterances = [record for record in records if isinstance(record, UtteranceRecord)]
    health = [record for record in records if isinstance(record, HealthRecord)]
    judged = [record.quality for record in utterances if record.quality]
    before_ms = [r.pause_before_ms for r in utterances if r.pause_before_ms is not None]
    # A song has two events, start and end; only the second one knows the length.
    songs = [record for record in records if isinstance(record, SongEvent)]
    corrected = sum(bool(record.corrections) for record in utterances)
    times = {name: _latency(getattr(record, name) for record in utterances) for name in TIMES}
    return SummaryRecord(
        utc=utc,
        session=session,
        # The last one counts: a session in the night of a clock change has two.
        utc_offset_min=health[-1].utc_offset_min if health else 0,
        audio_s=health[-1].audio_s if health else 0.0,
        utterances=len(utterances),
        decisions=dict(Counter(quality.decision for quality in judged)),
        flags=dict(Counter(flag for record in utterances for flag in record.flags)),
        excluded=dict(Counter(why for quality in judged for why in quality.excluded)),
        filtered=dict(Counter(record.filtered for record in utterances if record.filtered)),
        lost_tails=sum(record.lost_tail_s > 0 for record in utterances),
        recovered_tails=sum(record.tail_recovered for record in utterances),
        eager=sum(record.eager for record in utterances),
        cancelled_runs=sum(record.cancelled_runs for record in utterances),
        reopened=sum(record.reopened for record in utterances),
        splits=sum(pause_ms < SPLIT_MS for pause_ms in before_ms),
        pauses=pause_counts(utterances),
        songs=sum(song.held for song in songs),
        song_s=round(sum(song.to_s - song.from_s for song in songs if not song.held), 1),
        corrections=dict(Counter(fix.rule for record in utterances for fix in record.corrections)),
        terms=term_counts(utterances),
        corrected_share=round(corrected / len(utterances), 4) if utterances else None,
        latencies={name: latency for name, latency in times.items() if latency},
        # By code: messages contain names and numbers, and would never be equal.
        faults=dict(Counter(each.code for each in records if isinstance(each, FaultEvent))),
        # The last health record may be ten seconds old; the recorder counts to the end.
        dropped=dropped_totals(records, dropped_records),
        pairs=pairs,
        review=review,
    )


def _latency(times_ms: Iterable[float | None]) -> Latency | None:
    ordered = sorted(took_ms for took_ms in times_ms if took_ms is not None)
    if not ordered:
        return None
    p50_ms, p95_ms = (nearest_rank(ordered, share) for share in (0.50, 0.95))
    return Latency(count=len(ordered), p50_ms=p50_ms, p95_ms=p95_ms)
