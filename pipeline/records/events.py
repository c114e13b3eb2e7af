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


# kw_only, so that `type`, which has a default, can come before fields without one.
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
    """Its name in the settings."""
    file: str
    """Name of its weights file."""
    size_bytes: int
    # A file of several gigabytes is hashed when it is pulled, not at each start.
    sha256: str
    """Hash of that file; empty if it is not known and reading the file would take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsEvent(_Event):
    """The daemon runs with these models."""

    event: Literal["models"] = "models"
    models: tuple[ModelUsed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent(_Event):
    """Something went wrong in a stage, and the daemon continued."""

    event: Literal["fault"] = "fault"
    stage: str
    code: str
    message: str


# After a fault captions continue, after this they do not; reports count both as troubles.
@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenEvent(_Event):
    """A worker failed permanently, which ends the daemon."""

    event: Literal["broken"] = "broken"
    worker: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedEvent(_Event):
    """The daemon resumed this session after a crash, a kill or a power cut."""

    event: Literal["resumed"] = "resumed"
    captions: int
    """Number of lines in the journal."""
    # New ids continue from here, so that captions from before and after the crash stay distinct.
    last_id: int
    """The highest utterance id before the crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent(_Event):
    """The microphone was lost, or is back."""

    event: Literal["source"] = "source"
    lost: bool
    message: str
    # Earlier versions did not write this field; the same is true of all fields with a default.
    muted: bool = False
    """The microphone gives only zeros, as if somebody had muted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SongEvent(_Event):
    """Captions are held because of song, or no longer."""

    event: Literal["song"] = "song"
    held: bool
    by: Literal["detector", "operator"]
    """Who decided it."""
    from_s: float
    """Where the song began, seconds of the session's audio."""
    to_s: float
    """Where the song was detected; without `held`, where captions resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RungEvent(_Event):
    """The daemon changed its step of the degradation ladder, because of its lag."""

    event: Literal["rung"] = "rung"
    rung: RungName


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEvent(_Event):
    """An operator gave a command."""

    event: Literal["command"] = "command"
    name: CommandName
    # Without the text, since the journal has every version of a caption.
    id: int
    """The caption's id, 0 if the command is not about one."""
    lang: str = ""
    """For `spoken`: the spoken language, empty if the program detects it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEvent(_Event):
    """A notice was shown on every screen, or translated, or removed."""

    event: Literal["notice"] = "notice"
    at_s: float
    """Position of the audio when the notice was shown."""
    # Always all texts, not the change: the newest event alone gives the current notice.
    texts: dict[str, str]
    """By language; empty: there is no notice any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DictionaryEvent(_Event):
    """The dictionary was read again."""

    event: Literal["dictionary"] = "dictionary"
    rules: int
    """The number of rules that it has now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedEvent(_Event):
    """The settings were read again. These keys of config.toml have changed."""

    event: Literal["reloaded"] = "reloaded"
    live: tuple[str, ...]
    """They take effect at once."""
    next_utterance: tuple[str, ...]
    """They take effect with the next utterance."""
    # Listed too, so that nobody looks for the effect of a change that has none yet.
    restart: tuple[str, ...]
    """They take effect only after a restart of the daemon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvent(_Event):
    """An operator has added or removed a rule of the church's dictionary file.

    A rule that is `held` is valid for this service only.
    """

    event: Literal["rule"] = "rule"
    # With its words, since held rules are restored from these events after a crash.
    id: str
    heard: str
    write: str
    removed: bool
    held: bool = False
    """The rule is in no file: it ends with the service."""
    lang: str = ""
    """The language of `write`, if `write` is the translation of `heard` (the glossary)."""
    at_s: float = 0.0
    """Position of the audio when a held rule was added; its removal has the same value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffRecordEvent(_Event):
    """An operator went off the record, and the last speech was removed from all files."""

    event: Literal["off-record"] = "off-record"
    from_s: float
    """Start of the removed speech, seconds of the session's audio."""
    to_s: float
    """Position of the audio at the command; speech after it was not processed."""
    captions: int
    """Captions that were removed from the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsDroppedEvent(_Event):
    """Records or captions could not be written."""

    event: Literal["records-dropped"] = "records-dropped"
    count: int
    """Number since the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent(_Event):
    """The session is over."""

    event: Literal["end"] = "end"
    unfinished: int
    """Utterances that ended without a final caption."""
    audio_s: float
    """Length of the audio heard."""


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
"""A line of diagnostics.jsonl, except the last one, which is the summary."""


def held_rules(records: Iterable[object]) -> tuple[RuleEvent, ...]:
    """Return the rules that operators hold for a service and have not removed."""
    # By its words: a rule that is held again after its removal is the same rule.
    held: dict[tuple[str, str, str], RuleEvent] = {}
    for event in records:
        if isinstance(event, RuleEvent) and event.held:
            key = event.lang, event.heard, event.write
            if event.removed:
                held.pop(key, None)
            else:
                held[key] = event
    return tuple(held.values())
