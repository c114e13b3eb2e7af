"""The events of a session, as lines of diagnostics.jsonl. Pure.

An event's fields are its JSON, in order. Times ending in `_s` are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.core.types import CommandName
from pipeline.records.health import HealthRecord, RungName
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord


# By keyword only: `type` has a default here, and may still stand before fields without one.
@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    type: Literal["event"] = "event"
    utc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsed:
    """The model that an engine has loaded."""

    engine: str
    """`whisper`, `moonshine`, `marian` or `gemma`."""
    setting: str
    """As the settings name it."""
    file: str
    """Name of its file of weights."""
    size_bytes: int
    # A file of several gigabytes is hashed when it is pulled, and not at each start.
    sha256: str
    """Of that file; empty where reading it would take too long and nobody has told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsEvent(_Event):
    """The daemon runs with these models."""

    event: Literal["models"] = "models"
    models: tuple[ModelUsed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent(_Event):
    """Something went wrong in a stage and the daemon went on."""

    event: Literal["fault"] = "fault"
    stage: str
    code: str
    message: str


# A fault leaves captions going on, this does not: reports count both among the troubles.
@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenEvent(_Event):
    """A worker failed for good, which ends the daemon."""

    event: Literal["broken"] = "broken"
    worker: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedEvent(_Event):
    """The daemon went on with this session after a crash, a kill or a power cut."""

    event: Literal["resumed"] = "resumed"
    captions: int
    """Lines that the journal had."""
    # Ids go on from here, so that a caption of before the crash and one of after it stay apart.
    last_id: int
    """The highest id of an utterance until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent(_Event):
    """The microphone went away, or is back."""

    event: Literal["source"] = "source"
    lost: bool
    message: str
    # Earlier versions wrote no such field; so it is with all fields that have a default here.
    muted: bool = False
    """It is there and gives nothing but zeros, as one that somebody has muted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SongEvent(_Event):
    """Captions are held because of song, or no longer."""

    event: Literal["song"] = "song"
    held: bool
    by: Literal["detector", "operator"]
    """Who wanted it."""
    from_s: float
    """Where the song began, seconds of the session's audio."""
    to_s: float
    """Where that was noticed; where captions went on, when it is no longer held."""


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
    # The text is not in it: the journal has every version of a caption.
    id: int
    """The caption, 0 where the command is not about one."""
    lang: str = ""
    """Of `spoken`: the language that is spoken, empty where the program hears for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEvent(_Event):
    """A notice has been put on every screen, or translated, or taken away."""

    event: Literal["notice"] = "notice"
    at_s: float
    """Position of the audio when it was put up."""
    # All of them each time, not the change: the newest event alone says what stands.
    texts: dict[str, str]
    """By language; empty: none stands any more."""


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
    # Told as well, so that nobody looks for the effect of a change that has none yet.
    restart: tuple[str, ...]
    """Not in force before the daemon is restarted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvent(_Event):
    """An operator has added a rule to the church's dictionary file, or taken it back.

    Or one that is `held` for this service only.
    """

    event: Literal["rule"] = "rule"
    # With its words beside it: after a crash, held rules are made again from these events.
    id: str
    heard: str
    write: str
    removed: bool
    held: bool = False
    """No file has it: it ends with the service."""
    lang: str = ""
    """Of `write`, where that is how `heard` is said in another language (the glossary)."""
    at_s: float = 0.0
    """Of one that is held, the position of the audio then; the same where it is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffRecordEvent(_Event):
    """An operator went off the record, and what had just been said is gone from all files."""

    event: Literal["off-record"] = "off-record"
    from_s: float
    """Start of the removed speech, seconds of the session's audio."""
    to_s: float
    """Position of the audio at the command; from here on nothing was heard."""
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
    ModelsEvent
    | FaultEvent
    | BrokenEvent
    | ResumedEvent
    | SourceEvent
    | SongEvent
    | RungEvent
    | CommandEvent
    | NoticeEvent
    | DictionaryEvent
    | ReloadedEvent
    | RuleEvent
    | OffRecordEvent
    | RecordsDroppedEvent
    | EndEvent
)

Record: TypeAlias = UtteranceRecord | TranslationRecord | CompareRecord | HealthRecord | EventRecord
"""A line of diagnostics.jsonl but for the last one, which is the summary."""


def held_rules(records: Iterable[object]) -> tuple[RuleEvent, ...]:
    """Return what operators held for a service and did not take back."""
    # By its words: what is held again after it was taken back is the same rule.
    held: dict[tuple[str, str, str], RuleEvent] = {}
    for event in records:
        if isinstance(event, RuleEvent) and event.held:
            key = event.lang, event.heard, event.write
            if event.removed:
                held.pop(key, None)
            else:
                held[key] = event
    return tuple(held.values())
