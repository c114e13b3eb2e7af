"""The shape of every protocol message that pipeline.protocol.codec has no value for. Pure.

Only schema/ is made of these, and tests hold real messages against it: `wire` encodes and parses.
A `caption` is `wire.Message`, an `utterance` and a `compare` are the records of these names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pipeline.core.types import CommandName, Kind, Mode, State
from pipeline.protocol.codec import MAX_PHRASE, MAX_TEXT, PROTOCOL, Message
from pipeline.records.comparison import CompareRecord
from pipeline.records.events import HealthRecord
from pipeline.records.utterance import UtteranceRecord

CaptionId = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HelloMessage:
    """The first message on every connection."""

    type: Literal["hello"] = "hello"
    protocol: Annotated[int, Field(ge=PROTOCOL, le=PROTOCOL)]
    session: str
    """Names this run of the daemon."""
    mode: Mode
    seq: int
    """The newest caption's."""
    source: str
    """Language that is spoken."""
    targets: tuple[str, ...]
    """Languages that are shown."""
    lang: str
    """The one that this connection asked for."""
    state: State
    reason: str
    resumed: bool
    """Whether `captions` are only those that changed after `since`."""
    captions: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    """The captions that a short `hello` has left out."""

    type: Literal["earlier"] = "earlier"
    captions: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AliveMessage:
    """A sign of life, every ten seconds."""

    type: Literal["alive"] = "alive"
    seq: int
    """The newest caption's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMessage:
    """The state or its reason has changed."""

    type: Literal["status"] = "status"
    mode: Mode
    seq: int
    """The newest caption's."""
    state: State
    reason: str
    """One English sentence for the operator, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMessage:
    """How loud the input is; to operators."""

    type: Literal["level"] = "level"
    dbfs: float
    clipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedMessage:
    """The token was right."""

    type: Literal["authorized"] = "authorized"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one test before the service said."""

    test: str
    verdict: Literal["ok", "look", "failed"]
    line: str
    fix: str
    """What to do; empty for `ok`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheck:
    """What `stark-translate check` said when it was last run."""

    utc: str
    ok: bool
    results: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of the session's audio, seconds."""

    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgedMessage(Stretch):
    """What was said then is gone from the record; to operators, who must forget it."""

    type: Literal["purged"] = "purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleMessage:
    """What an operator's page needs to be up to date."""

    type: Literal["console"] = "console"
    address: str
    """The audience page's."""
    dictionary: str
    """The church's own dictionary file; empty: rules cannot be added."""
    undo: str
    """What `undo` would take back, empty: nothing."""
    paused: bool
    blank: bool
    off_record: bool
    off_record_s: float
    """How much of what has just been said `off-record` would take away."""
    purged: tuple[Stretch, ...]
    """What was said then is gone; the last ones, oldest first."""
    utterances: tuple[UtteranceRecord, ...]
    """The last ones, oldest first."""
    compares: tuple[CompareRecord, ...]
    """The last ones, oldest first."""
    check: LastCheck | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassTimes:
    """From publishing to painted, milliseconds."""

    p50: int
    p95: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayGroup:
    """The displays of one kind and language."""

    kind: Kind
    lang: str
    clients: int
    glass_ms: GlassTimes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowDisplay:
    """A single display that paints captions."""

    name: str
    kind: Kind
    lang: str
    glass_ms: int
    """Median of the last, or how long its oldest caption has been waiting if that is more."""
    behind: int
    """Captions sent that it has not painted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMessage(HealthRecord):
    """How the daemon is and how the displays keep up; to operators, every two seconds."""

    displays: tuple[DisplayGroup, ...]
    slowest: tuple[SlowDisplay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneMessage:
    """A command was obeyed; to operators."""

    type: Literal["done"] = "done"
    name: CommandName
    undo: str
    """What `undo` would take back, empty: nothing."""
    paused: bool
    blank: bool
    off_record: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedMessage:
    """Settings and dictionary were read again; to operators. Lists keys of config.toml."""

    type: Literal["reloaded"] = "reloaded"
    live: tuple[str, ...]
    """In force at once."""
    next_utterance: tuple[str, ...]
    """In force from the next utterance on."""
    restart: tuple[str, ...]
    """Not in force before the daemon is restarted."""
    rules: int
    """How many rules the dictionary has now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMessage:
    """An operator has added a dictionary rule, or taken it back; to operators."""

    type: Literal["rule"] = "rule"
    id: str
    heard: str
    write: str
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultMessage:
    """Something went wrong in a stage and the daemon went on; to operators."""

    type: Literal["fault"] = "fault"
    stage: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMessage:
    """What this connection sent was refused."""

    type: Literal["error"] = "error"
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessage:
    """A display has painted everything up to `seq`."""

    type: Literal["ack"] = "ack"
    seq: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthMessage:
    """An operator's token."""

    type: Literal["auth"] = "auth"
    token: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommand:
    """An operator changes the state, takes back what operators did last, or has settings read."""

    type: Literal["command"] = "command"
    name: Literal[
        "blank", "off-record", "on-record", "pause", "reload", "resume", "unblank", "undo"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCommand:
    """An operator replaces a caption's target text."""

    type: Literal["command"] = "command"
    name: Literal["edit"] = "edit"
    id: CaptionId
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HideCommand:
    """An operator takes a caption away."""

    type: Literal["command"] = "command"
    name: Literal["hide"] = "hide"
    id: CaptionId


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRuleCommand:
    """An operator adds a rule to the church's dictionary file."""

    type: Literal["command"] = "command"
    name: Literal["add-rule"] = "add-rule"
    heard: Annotated[str, Field(min_length=1, max_length=MAX_PHRASE)]
    write: Annotated[str, Field(min_length=1, max_length=MAX_PHRASE)]


CommandMessage: TypeAlias = PlainCommand | EditCommand | HideCommand | AddRuleCommand
