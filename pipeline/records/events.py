"""What is written down about a session: how the daemon is, what happens, what it came to. Pure.

The lines of diagnostics.jsonl that are not about one utterance (pipeline.records.utterance). Times
ending in `_s` are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.core.types import CommandName, Mode, State
from pipeline.records.quality import Decision, Exclusion, Flag

RungName = Literal[
    "full",
    "fewer-partials",
    "no-partials",
    "partial-engine-finals",
    "source-captions",
    "behind",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """How much waits."""

    mailbox: int
    """Utterances for the recognizer."""
    drafts: int
    """Captions for the final translator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What was given up since the start."""

    blocks: int
    """Blocks of 32 ms of audio: the driver's overflows and a full queue."""
    records: int
    """Records and captions that could not be written."""
    partials: int
    """Partials that a newer one replaced before the recognizer had time for them."""
    drafts: int
    """Finals that the quick translator made because the final translator was too far behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRecord:
    """How the daemon is, every ten seconds and at the end."""

    type: Literal["health"] = "health"
    utc: str
    state: State
    reason: str
    """Why it is in this state; empty where that needs no reason."""
    mode: Mode
    session: str
    """The session's name, that of its folder."""
    uptime_s: float
    """Since the daemon was started."""
    audio_s: float
    """Audio heard so far."""
    lag_s: float
    """Age of the oldest closed utterance that has no final caption yet."""
    rung: RungName
    """What is given up because the machine is behind."""
    source: str
    """The microphone's or the file's name."""
    recognizer: str
    """Engine and model."""
    partial: str
    """The quick translator's name, empty where there is none."""
    final: str
    """The final translator's name, empty where there is none."""
    setback: str
    """Which engines are not as they should be, and what stands in; empty when all are."""
    queues: Queues
    dropped: Dropped
    memory_mb: float
    """Memory of the process, megabytes (10^6 bytes) resident."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    type: Literal["event"] = "event"
    utc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent(_Event):
    """Something went wrong in a stage and the daemon went on."""

    event: Literal["fault"] = "fault"
    stage: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenEvent(_Event):
    """A worker could not go on, and with it the daemon."""

    event: Literal["broken"] = "broken"
    worker: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedEvent(_Event):
    """The daemon went on with this session after a crash, a kill or a power cut."""

    event: Literal["resumed"] = "resumed"
    captions: int
    """Lines of the journal that were there."""
    last_id: int
    """The highest id of an utterance until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent(_Event):
    """The microphone went away, or is back."""

    event: Literal["source"] = "source"
    lost: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RungEvent(_Event):
    """The daemon gives up more, or less, because it is behind."""

    event: Literal["rung"] = "rung"
    rung: RungName


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEvent(_Event):
    """An operator did something."""

    event: Literal["command"] = "command"
    name: CommandName
    id: int
    """The caption, 0 where the command is not about one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DictionaryEvent(_Event):
    """The dictionary was read again."""

    event: Literal["dictionary"] = "dictionary"
    rules: int
    """How many rules it has now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedEvent(_Event):
    """The settings were read again. These keys of config.toml have other values than before."""

    event: Literal["reloaded"] = "reloaded"
    live: tuple[str, ...]
    """In force at once."""
    next_utterance: tuple[str, ...]
    """In force from the next utterance on."""
    restart: tuple[str, ...]
    """Not in force before the daemon is restarted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvent(_Event):
    """An operator has added a rule to the church's dictionary file, or taken it back."""

    event: Literal["rule"] = "rule"
    id: str
    heard: str
    write: str
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OffRecordEvent(_Event):
    """An operator went off the record, and what had just been said is gone from all files."""

    event: Literal["off-record"] = "off-record"
    from_s: float
    """What was spoken from here on is gone."""
    to_s: float
    """Where the audio was at the command; from here on nothing was heard."""
    captions: int
    """Captions that were taken out of the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsDroppedEvent(_Event):
    """Records or captions could not be written."""

    event: Literal["records-dropped"] = "records-dropped"
    count: int
    """How many since the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent(_Event):
    """The session is over."""

    event: Literal["end"] = "end"
    unfinished: int
    """Utterances that were given up without a final caption."""
    audio_s: float
    """Audio heard."""


EventRecord: TypeAlias = (
    FaultEvent
    | BrokenEvent
    | ResumedEvent
    | SourceEvent
    | RungEvent
    | CommandEvent
    | DictionaryEvent
    | ReloadedEvent
    | RuleEvent
    | OffRecordEvent
    | RecordsDroppedEvent
    | EndEvent
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How a time is spread over the utterances that have it."""

    count: int
    """Utterances that have it."""
    p50_ms: float
    """Median."""
    p95_ms: float
    """19 of 20 took no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRecord:
    """The session in figures, as the last line of diagnostics.jsonl and as summary.json."""

    type: Literal["summary"] = "summary"
    utc: str
    session: str
    """The session's name, that of its folder."""
    audio_s: float
    """Audio heard."""
    utterances: int
    """Stretches of speech, those whose text was filtered included."""
    decisions: dict[Decision, int]
    """Captions by what to do with their pair."""
    flags: dict[Flag, int]
    """Utterances by what is suspicious about them."""
    excluded: dict[Exclusion, int]
    """Captions by why their pair is of no use."""
    filtered: dict[str, int]
    """Utterances that were not shown, by reason."""
    lost_tails: int
    """Utterances of which the recognizer's first text left out the end."""
    recovered_tails: int
    """Of those, the ones whose end a second look gave."""
    corrections: dict[str, int]
    """How often each rule of the dictionary was applied."""
    corrected_share: float | None
    """Share of the utterances in which a rule was applied, 0..1."""
    latencies: dict[str, Latency]
    """By the name of the utterance record's field."""
    faults: dict[str, int]
    """By code."""
    dropped: dict[str, int]
    """What was given up, by kind; the kinds are those of a health record."""
    pairs: int
    """Lines of sermon_pairs.jsonl."""
    review: int
    """Lines of review_queue.jsonl."""
