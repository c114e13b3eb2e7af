"""Messages to displays and operators. Their fields are the keys of their JSON, in order. Pure.

A `caption` is pipeline.protocol.caption.CaptionMessage; an `utterance` and a `compare` are the
records of these names. schema/messages is generated from these types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pipeline.core.types import CommandName, Kind, Mode, SongControl, State
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.records.events import ModelUsed
from pipeline.records.health import HealthRecord
from pipeline.records.utterance import CompareRecord, UtteranceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulMessage:
    """A doubtful final that the displays do not show yet; to operators."""

    type: Literal["doubtful"] = "doubtful"
    id: int
    source: SourceText
    target: TargetText
    # Seconds, not a time: the clock of an operator's tablet may be wrong.
    left_s: float
    """Seconds until it is shown, with a mark; 0: it is no longer held back."""
    revision: int = 0
    """The caption's revision once it is shown; commands about the caption carry it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesMessage:
    """The entries extracted from the sermon notes; to operators, who correct them."""

    type: Literal["notes"] = "notes"
    names: tuple[str, ...] = ()
    verses: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """Translations of words: "covenant = pacto"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMessage:
    """The pairing code was right; this message carries the device's token."""

    type: Literal["paired"] = "paired"
    name: str
    # Sent once and stored by the device; the daemon stores only what it needs to verify it.
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationMessage:
    """A code that pairs one more device; to the operator who asked for it."""

    type: Literal["invitation"] = "invitation"
    code: str
    """Six digits."""
    for_s: float
    """Seconds for which the code is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolunteersMessage:
    """The volunteers whose devices are paired; to operators."""

    type: Literal["volunteers"] = "volunteers"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one test of `stark-translate check`."""

    test: str
    verdict: Literal["ok", "look", "failed"]
    line: str
    fix: str
    """How to fix it; empty for `ok`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheck:
    """The results of the last run of `stark-translate check`."""

    utc: str
    ok: bool
    results: tuple[CheckResult, ...]
    # Compared when the check is read: a check of other settings says nothing about these.
    differs: tuple[str, ...] = ()
    """Settings whose value has changed since the check; if there are any, it is outdated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMessage:
    """The progress of a check that an operator started; to operators."""

    type: Literal["check"] = "check"
    # Sent for each test and once at the end, so that a page that opens late sees the progress.
    doing: str = ""
    """The test in progress, in words; empty: the check is over."""
    problem: str = ""
    """Why the check did not finish; empty: it did."""
    check: LastCheck | None = None
    """The results, once the check is over."""


# Pages from an older cache compare it in `hello`. A new field does not change it.
PROTOCOL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeMessage:
    """The notice on every screen, until the next one; without a text no notice is shown."""

    type: Literal["notice"] = "notice"
    # The order matters: a page that has no text in its language shows the first one.
    texts: dict[str, str] = field(default_factory=dict)
    """By language; the first is the one that an operator typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HelloMessage:
    """The first message on every connection."""

    type: Literal["hello"] = "hello"
    # The range goes into the schema: a page made for another version refuses this message.
    protocol: Annotated[int, Field(ge=PROTOCOL, le=PROTOCOL)] = PROTOCOL
    # A page that reconnects names the session: its `since` is valid only within one session.
    session: str
    """The session's name."""
    mode: Mode
    seq: int
    """The newest caption's `seq`."""
    source: str
    """Language spoken."""
    targets: tuple[str, ...]
    """Languages shown."""
    lang: str
    """The language that this connection asked for."""
    state: State
    reason: str
    resumed: bool
    """True if `captions` holds only the changes after `since`."""
    captions: tuple[CaptionMessage, ...]
    notice: NoticeMessage = field(default_factory=NoticeMessage)
    acks: bool = True
    """Whether this display must send `ack`s. Where thousands watch, only a sample sends them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    """The captions that a short `hello` left out."""

    # Sent after a short `hello`: so the newest captions are painted first, also on a slow network.
    type: Literal["earlier"] = "earlier"
    captions: tuple[CaptionMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AliveMessage:
    """A sign of life, every ten seconds."""

    # It lets a page tell a quiet service from a dead connection.
    type: Literal["alive"] = "alive"
    seq: int
    """The newest caption's `seq`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMessage:
    """The state or its reason has changed."""

    type: Literal["status"] = "status"
    mode: Mode
    seq: int
    """The newest caption's `seq`."""
    state: State
    reason: str
    """One English sentence for the operator, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMessage:
    """The loudness of the input; to operators."""

    type: Literal["level"] = "level"
    # 0 is full scale; digital silence is -120 (pipeline.audio.level).
    dbfs: float
    clipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedMessage:
    """The token was right."""

    type: Literal["authorized"] = "authorized"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of the session's audio, seconds."""

    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgedMessage:
    """A time range was removed from the record; operators' pages must remove it too."""

    type: Literal["purged"] = "purged"
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionMessage:
    """A verse that the last words may quote; to operators, who take or dismiss it."""

    type: Literal["suggestion"] = "suggestion"
    # If all fields are empty, the previous suggestion is withdrawn.
    id: int = 0
    """The id of the caption that the verse would be shown with."""
    ref: str = ""
    """The reference, written as in the target language; empty: there is no suggestion any more."""
    text: str = ""
    edition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleMessage:
    """Everything that an operator's page shows when it opens."""

    type: Literal["console"] = "console"
    address: str = ""
    """The audience page's address."""
    dictionary: str = ""
    """The church's own dictionary file; empty: rules cannot be added."""
    undo: str = ""
    """The command that `undo` would reverse, in words; empty: none."""
    paused: bool = False
    blank: bool = False
    off_record: bool = False
    song: SongControl | Literal["off"] = "auto"
    """The operators' choice for song; "off": there is no song mode."""
    spoken: tuple[str, ...] = ()
    """The spoken languages, if there are several."""
    forced: str = ""
    """The spoken language that an operator has chosen; empty: it is detected."""
    off_record_s: float = 0.0
    """Seconds of audio before the command that `off-record` would also remove."""
    purged: tuple[Stretch, ...] = ()
    """The last time ranges that were removed from the record, oldest first."""
    utterances: tuple[UtteranceRecord, ...] = ()
    """The newest utterances, oldest first."""
    compares: tuple[CompareRecord, ...] = ()
    """The newest comparisons, oldest first."""
    check: LastCheck | None = None
    suggestion: SuggestionMessage = SuggestionMessage()
    doubtful: tuple[DoubtfulMessage, ...] = ()
    """The finals that are held back, oldest first."""
    notes: NotesMessage = field(default_factory=NotesMessage)
    keep_audio: Literal["none", "doubtful", "all"] = "none"
    """Which audio is kept to learn from: none, that of doubtful captions, or all."""
    models: tuple[ModelUsed, ...] = ()
    """The models that the engines have loaded."""
    volunteers: tuple[str, ...] = ()
    """The volunteers whose devices are paired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassTimes:
    """Times from publishing a caption to painting it on displays, milliseconds."""

    p50: int
    p95: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayGroup:
    """The displays of one kind and language."""

    kind: Kind | Literal["voice"]
    """"voice": listeners with headphones."""
    lang: str
    clients: int
    # None: no display of the group has sent an ack for a caption.
    glass_ms: GlassTimes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowDisplay:
    """A single display that paints captions."""

    name: str
    kind: Kind
    lang: str
    glass_ms: int
    """Median of its last captions, or the wait of its oldest unpainted one if that is longer."""
    # From the seq of its last ack: a display that sends no acks is not in this list.
    behind: int
    """Captions that were sent to it and are not painted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMessage(HealthRecord):
    """The health of daemon and displays; to operators, every two seconds."""

    displays: tuple[DisplayGroup, ...]
    slowest: tuple[SlowDisplay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneMessage:
    """A command was executed; to operators."""

    type: Literal["done"] = "done"
    name: CommandName
    # With everything that operators control, so that all operators' pages show the same.
    undo: str
    """The command that `undo` would reverse, in words; empty: none."""
    paused: bool
    blank: bool
    off_record: bool
    song: SongControl | Literal["off"] = "auto"
    """The operators' choice for song; "off": there is no song mode."""
    spoken: tuple[str, ...] = ()
    """The spoken languages, if there are several."""
    forced: str = ""
    """The spoken language that an operator has chosen; empty: it is detected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedMessage:
    """Settings and dictionary were reloaded; to operators. The lists are keys of config.toml."""

    type: Literal["reloaded"] = "reloaded"
    live: tuple[str, ...]
    """They take effect at once."""
    next_utterance: tuple[str, ...]
    """They take effect with the next utterance."""
    restart: tuple[str, ...]
    """They take effect only after a restart of the daemon."""
    rules: int
    """The number of rules that the dictionary has now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMessage:
    """An operator has added or removed a dictionary rule; to operators."""

    type: Literal["rule"] = "rule"
    id: str
    heard: str
    write: str
    removed: bool
    held: bool = False
    """The rule is valid for this service only."""
    lang: str = ""
    """The language of `write`, if `write` is the translation of `heard`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A caption that a rule would change: `text` is what it would have been."""

    id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewMessage:
    """What a rule would change in captions; to operators, after `preview-rule`, `preview-term`."""

    type: Literal["preview"] = "preview"
    heard: str
    write: str
    # In the answer, not as an error: the page has only asked and nobody has given a command.
    refused: str
    """Why the rule is not possible, or empty."""
    captions: tuple[Rewritten, ...]
    """Newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultMessage:
    """Something went wrong in a stage, and the daemon continued; to operators."""

    type: Literal["fault"] = "fault"
    stage: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMessage:
    """The answer to a message that was refused."""

    # Programs use the code; the message is for people, and its words may change.
    type: Literal["error"] = "error"
    code: str
    message: str


Outgoing: TypeAlias = (
    CaptionMessage
    | HelloMessage
    | EarlierMessage
    | AliveMessage
    | StatusMessage
    | NoticeMessage
    | LevelMessage
    | AuthorizedMessage
    | PairedMessage
    | InvitationMessage
    | VolunteersMessage
    | PurgedMessage
    | SuggestionMessage
    | CheckMessage
    | DoubtfulMessage
    | NotesMessage
    | ConsoleMessage
    | HealthMessage
    | DoneMessage
    | ReloadedMessage
    | PreviewMessage
    | RuleMessage
    | FaultMessage
    | ErrorMessage
    # The same as in the records: an operator's page shows the figures that the report will have.
    | UtteranceRecord
    | CompareRecord
)
