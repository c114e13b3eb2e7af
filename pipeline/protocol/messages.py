"""Messages to displays and operators. A message's fields are its JSON, in order. Pure.

A `caption` is pipeline.protocol.caption.CaptionMessage; an `utterance` and a `compare` are the
records of these names. schema/messages is made from these types.
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
    """A doubtful final that is kept off the screens for a moment; to operators."""

    type: Literal["doubtful"] = "doubtful"
    id: int
    source: SourceText
    target: TargetText
    # Seconds and not a time: the clock of an operator's tablet may be wrong.
    left_s: float
    """Seconds until it is shown, with a mark; 0: it is kept back no longer."""
    revision: int = 0
    """The caption's, once it is shown: commands about it carry this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesMessage:
    """What is known beforehand from the notes of the sermon; to operators, who correct it."""

    type: Literal["notes"] = "notes"
    names: tuple[str, ...] = ()
    verses: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """How words are translated: "covenant = pacto"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMessage:
    """The code was right: this is the token of the device."""

    type: Literal["paired"] = "paired"
    name: str
    # Sent once, and kept by the device: the daemon keeps only what it takes to know it again.
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationMessage:
    """A code that lets one more device in; to the operator who asked for it."""

    type: Literal["invitation"] = "invitation"
    code: str
    """Six digits."""
    for_s: float
    """Seconds that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolunteersMessage:
    """Whose devices are paired; to operators."""

    type: Literal["volunteers"] = "volunteers"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one test of `stark-translate check`."""

    test: str
    verdict: Literal["ok", "look", "failed"]
    line: str
    fix: str
    """How to mend it; empty for `ok`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheck:
    """The results of the last run of `stark-translate check`."""

    utc: str
    ok: bool
    results: tuple[CheckResult, ...]
    # Compared when it is read: a check of other settings says nothing about these.
    differs: tuple[str, ...] = ()
    """Settings that it was made with and that have another value now: it holds no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMessage:
    """How far a check is that was started at the desk; to operators."""

    type: Literal["check"] = "check"
    # Sent for each test and once more at the end: a page that comes late sees where it is.
    doing: str = ""
    """What is being tested, in words; empty: it is over."""
    problem: str = ""
    """Why it came to no end; empty: it did."""
    check: LastCheck | None = None
    """What was checked last, once it is over."""


# Pages from an older cache compare it in `hello`; a field that is added does not change it.
PROTOCOL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeMessage:
    """The notice on every screen, until the next one; without a text there is none."""

    type: Literal["notice"] = "notice"
    # The order matters: a page without a text in its language shows the first one.
    texts: dict[str, str] = field(default_factory=dict)
    """By language; the first is as an operator typed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HelloMessage:
    """The first message on every connection."""

    type: Literal["hello"] = "hello"
    # The range is for the schema: a page made for another version refuses this message.
    protocol: Annotated[int, Field(ge=PROTOCOL, le=PROTOCOL)] = PROTOCOL
    # A page that comes back names it: only within one session does its `since` mean anything.
    session: str
    """The session's name."""
    mode: Mode
    seq: int
    """The newest caption's."""
    source: str
    """Language spoken."""
    targets: tuple[str, ...]
    """Languages shown."""
    lang: str
    """The one that this connection asked for."""
    state: State
    reason: str
    resumed: bool
    """True if `captions` holds only the changes after `since`."""
    captions: tuple[CaptionMessage, ...]
    notice: NoticeMessage = field(default_factory=NoticeMessage)
    acks: bool = True
    """Whether this display is to send `ack`s. Where thousands watch, some tell for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    """The captions that a short `hello` left out."""

    # Sent after a short `hello`: what was said last is painted first, also on a slow network.
    type: Literal["earlier"] = "earlier"
    captions: tuple[CaptionMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AliveMessage:
    """A sign of life, every ten seconds."""

    # By it a page tells a quiet service from a connection that is dead.
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
    """A time range was removed from the record; operators' pages must forget it too."""

    type: Literal["purged"] = "purged"
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionMessage:
    """A verse that the last words may quote; to operators, who take or dismiss it."""

    type: Literal["suggestion"] = "suggestion"
    # With all fields empty the suggestion that was shown before is taken back.
    id: int = 0
    """The caption's that it would be shown with."""
    ref: str = ""
    """As the target language prints it; empty: nothing is suggested any more."""
    text: str = ""
    edition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleMessage:
    """Everything that an operator's page shows when it opens."""

    type: Literal["console"] = "console"
    address: str = ""
    """The audience page's."""
    dictionary: str = ""
    """The church's own dictionary file; empty: rules cannot be added."""
    undo: str = ""
    """The command that `undo` would take back, in words; empty: none."""
    paused: bool = False
    blank: bool = False
    off_record: bool = False
    song: SongControl | Literal["off"] = "auto"
    """What operators want of song; "off": there is no song mode."""
    spoken: tuple[str, ...] = ()
    """The languages that are spoken, where there are several."""
    forced: str = ""
    """The one of them that an operator has chosen; empty: it is detected."""
    off_record_s: float = 0.0
    """Seconds before the command that `off-record` would remove as well."""
    purged: tuple[Stretch, ...] = ()
    """The last time ranges that were removed from the record, oldest first."""
    utterances: tuple[UtteranceRecord, ...] = ()
    """The last ones, oldest first."""
    compares: tuple[CompareRecord, ...] = ()
    """The last ones, oldest first."""
    check: LastCheck | None = None
    suggestion: SuggestionMessage = SuggestionMessage()
    doubtful: tuple[DoubtfulMessage, ...] = ()
    """What is kept back, oldest first."""
    notes: NotesMessage = field(default_factory=NotesMessage)
    keep_audio: Literal["none", "doubtful", "all"] = "none"
    """Whose sound is kept to learn from: nobody's, that of doubtful captions, all."""
    models: tuple[ModelUsed, ...] = ()
    """What the engines run on."""
    volunteers: tuple[str, ...] = ()
    """Whose devices are paired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassTimes:
    """Times from publishing a caption until displays have painted it, milliseconds."""

    p50: int
    p95: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayGroup:
    """The displays of one kind and language."""

    kind: Kind | Literal["voice"]
    """"voice": those who hear it in headphones."""
    lang: str
    clients: int
    # None: none of them has told of a caption that it has painted.
    glass_ms: GlassTimes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowDisplay:
    """A single display that paints captions."""

    name: str
    kind: Kind
    lang: str
    glass_ms: int
    """Median of its last captions, or the wait of its oldest unpainted one if longer."""
    # By the seq of its last ack: a display that only shows, without acks, is not in this list.
    behind: int
    """Captions sent to it and not painted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMessage(HealthRecord):
    """The health of daemon and displays; to operators, every two seconds."""

    displays: tuple[DisplayGroup, ...]
    slowest: tuple[SlowDisplay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneMessage:
    """A command was obeyed; to operators."""

    type: Literal["done"] = "done"
    name: CommandName
    # All that operators control comes along: after one's command every desk shows the same.
    undo: str
    """The command that `undo` would take back, in words; empty: none."""
    paused: bool
    blank: bool
    off_record: bool
    song: SongControl | Literal["off"] = "auto"
    """What operators want of song; "off": there is no song mode."""
    spoken: tuple[str, ...] = ()
    """The languages that are spoken, where there are several."""
    forced: str = ""
    """The one of them that an operator has chosen; empty: it is detected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedMessage:
    """Settings and dictionary were reloaded; to operators. The lists are keys of config.toml."""

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
    held: bool = False
    """It holds for this service only."""
    lang: str = ""
    """Of `write`, where that is how `heard` is said in another language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A caption that a rule would change: `text` is what would have been said."""

    id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewMessage:
    """What holding a rule would change; to operators, after `preview-rule` or `preview-term`."""

    type: Literal["preview"] = "preview"
    heard: str
    write: str
    # In the answer and not as an error: nobody has given a command, a page has only asked.
    refused: str
    """Why there can be no such rule, or empty."""
    captions: tuple[Rewritten, ...]
    """Newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultMessage:
    """Something went wrong in a stage and the daemon went on; to operators."""

    type: Literal["fault"] = "fault"
    stage: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMessage:
    """The answer to a message that was refused."""

    # Programs go by the code; the message is for people, and its words may change.
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
    # As they are written down: a desk shows the figures that the report will have.
    | UtteranceRecord
    | CompareRecord
)
