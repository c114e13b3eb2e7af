"""The shape of every protocol message that pipeline.wire has no value for. Pure.

Only schema/ is made of these, and tests hold real messages against it: `wire` encodes and parses.
A `caption` is `wire.Message`; an `utterance` is `records.UtteranceRecord`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pipeline.events import State
from pipeline.wire import MAX_TEXT, PROTOCOL, Message, Mode

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
class StateCommand:
    """An operator changes the state."""

    type: Literal["command"] = "command"
    name: Literal["blank", "pause", "resume", "unblank"]


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


CommandMessage: TypeAlias = StateCommand | EditCommand | HideCommand
