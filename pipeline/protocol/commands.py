"""Messages from displays: acks, an operator's token, commands; the types check them. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo

from pipeline.core.errors import ProtocolError
from pipeline.protocol.caption import Count

MAX_TEXT = 2000
"""Limit of an operator's text, characters."""
MAX_PHRASE = 80
"""Limit of each side of an operator's dictionary rule, characters."""


def one_line(most: int) -> Callable[[Any, ValidationInfo], Any]:
    """Return a validator that turns control characters and white space into single spaces.

    Other types pass through to pydantic's own check. It raises ProtocolError (bad-field) for a text
    of more than `most` characters or of none.
    """

    def clean(value: Any, info: ValidationInfo) -> Any:
        # An empty text passes too: the field's own check refuses it, in the same words as others.
        if not (isinstance(value, str) and value):
            return value
        # Terminals obey control characters, and a caption is one line in every file.
        printable = "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in value)
        text = " ".join(printable.split())
        if not 0 < len(text) <= most:
            # No ValueError: pydantic wraps those; this one passes through with its code.
            raise ProtocolError("bad-field", f"{info.field_name} has 1 to {most} characters.")
        return text

    return clean


def optional_line(value: Any, info: ValidationInfo) -> Any:
    """Return a text as `one_line` does, or an empty one as it is."""
    # An empty one is an answer of its own here, so it must not be refused.
    return value and one_line(MAX_TEXT)(value, info)


Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), BeforeValidator(one_line(MAX_TEXT))]
Phrase = Annotated[
    str, Field(min_length=1, max_length=MAX_PHRASE), BeforeValidator(one_line(MAX_PHRASE))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessage:
    """A display has painted everything up to `seq`."""

    # The field that says which message it is stands first; kw_only lets fields without a
    # default follow one that has one.
    type: Literal["ack"] = "ack"
    seq: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthMessage:
    """An operator's token."""

    type: Literal["auth"] = "auth"
    token: Annotated[str, Field(min_length=1)]


MAX_FILE = 4_000_000
"""Limit of a file of notes, bytes."""
MAX_PART = 14_000
"""Limit of a part of it in Base64, characters: a message has 16 kB at most."""
MAX_NAME = 40
"""Limit of a volunteer's name, characters."""
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), BeforeValidator(one_line(MAX_NAME))]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMessage:
    """A code that was shown at the desk, for a token of this device's own."""

    type: Literal["pair"] = "pair"
    # Six digits, and room for what people put between them: only digits are compared.
    code: Annotated[str, Field(min_length=1, max_length=20)]
    name: Name
    """The volunteer's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteMessage:
    """An operator asks for a code that lets one more device in."""

    type: Literal["invite"] = "invite"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeMessage:
    """An operator lets no device of a volunteer in any more."""

    type: Literal["revoke"] = "revoke"
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommand:
    """An operator's command without arguments: a change of state, undo, or a reload."""

    type: Literal["command"] = "command"
    # One class for all: they have the same fields, and who obeys one asks for its name only.
    name: Literal[
        "blank",
        "check",
        "clear-notice",
        "new-session",
        "off-record",
        "on-record",
        "pause",
        "reload",
        "resume",
        "song-auto",
        "song-caption",
        "song-hold",
        "unblank",
        "undo",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenCommand:
    """An operator says which of several languages is spoken; "": the program hears for itself."""

    type: Literal["command"] = "command"
    name: Literal["spoken"] = "spoken"
    # Whether it is one of the spoken languages is known by the settings, and asked there.
    lang: Annotated[str, Field(max_length=3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionCommand:
    """What all commands about one caption have in common."""

    type: Literal["command"] = "command"
    id: Count
    # Caption ids are shared by all target languages: an id alone would name one in each.
    lang: str = ""
    """The target language whose caption the operator has seen; "" is the first one."""
    # Two desks may be open: neither changes unseen what the other has just changed.
    revision: Count = 0
    """The one that the operator has seen: refused if there is a newer one. 0: done anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCommand(CaptionCommand):
    """An operator replaces a caption's target text, that of `lang`."""

    name: Literal["edit"] = "edit"
    text: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectCommand(CaptionCommand):
    """An operator replaces a caption's source text; it is translated again."""

    name: Literal["correct"] = "correct"
    text: Text
    target: Annotated[str, BeforeValidator(optional_line)] = ""
    """An operator's own translation into `lang`; "" leaves that to the translators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCommand:
    """An operator types a caption that nobody has spoken, or a notice.

    Text in the spoken language is translated, text in a target language shown as it is.
    """

    type: Literal["command"] = "command"
    name: Literal["notice", "say"]
    text: Text
    lang: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HideCommand(CaptionCommand):
    """An operator removes a caption from all displays, or shows it on all of them again."""

    name: Literal["hide", "show"] = "hide"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleCommand(CaptionCommand):
    """An operator begins to change a caption: what is said next does not go on with it."""

    name: Literal["settle"] = "settle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveCommand(CaptionCommand):
    """An operator finds a doubtful caption right: it is shown now, and without a mark."""

    name: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerseCommand(CaptionCommand):
    """An operator shows the verse that is suggested for a caption, or does not want it."""

    name: Literal["dismiss-verse", "take-verse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRuleCommand:
    """An operator adds a rule to the church's dictionary file, or holds it for this service.

    Or asks what holding it would change.
    """

    type: Literal["command"] = "command"
    name: Literal["add-rule", "hold-rule", "preview-rule"] = "add-rule"
    heard: Phrase
    write: Phrase

    def __post_init__(self) -> None:
        # A rule of punctuation only would match nothing, or everything.
        for key, text in (("heard", self.heard), ("write", self.write)):
            if not any(map(str.isalnum, text)):
                raise ProtocolError("bad-field", f"{key} has a letter or a digit in it.")
        # By letters: a rule that only changes case or an accent does change something.
        if self.heard == self.write:
            raise ProtocolError("bad-field", "heard and write are not the same.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldTermCommand:
    """An operator decides how a word is said in the target language, for this service.

    Or asks what that would change.
    """

    type: Literal["command"] = "command"
    name: Literal["hold-term", "preview-term"] = "hold-term"
    say: Phrase
    """In the spoken language."""
    write: Phrase
    # As a caption has it, spaces included: cleaned up it might not be found there any more.
    instead: Annotated[str, Field(max_length=MAX_PHRASE)] = ""
    """What stands there now; replaced in the captions that are on the screens."""

    def __post_init__(self) -> None:
        for key, text in (("say", self.say), ("write", self.write)):
            if not any(map(str.isalnum, text)):
                raise ProtocolError("bad-field", f"{key} has a letter or a digit in it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNotesCommand:
    """A part of a file of sermon notes; the last one has them drawn out and put to use."""

    type: Literal["command"] = "command"
    name: Literal["add-notes"] = "add-notes"
    file: Phrase
    """Its name, which says what it is: .docx, .pdf, .md, .txt."""
    size: Annotated[int, Field(ge=1, le=MAX_FILE)]
    """Of the whole file, bytes."""
    # A part that does not follow the one before is refused; the page adds the file again.
    at: Count
    """Where this part begins, bytes; 0 begins the file anew."""
    # A message is JSON, which has no bytes.
    data: Annotated[str, Field(min_length=1, max_length=MAX_PART)]
    """Base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropNoteCommand:
    """An operator takes out what was drawn out of the notes wrongly."""

    type: Literal["command"] = "command"
    name: Literal["drop-note"] = "drop-note"
    # By its words and not by its place: another desk may have changed the list meanwhile.
    entry: Text
    """A name, verse, number or translation as it is listed."""


CommandMessage: TypeAlias = (
    PlainCommand
    | SpokenCommand
    | EditCommand
    | CorrectCommand
    | TypeCommand
    | HideCommand
    | SettleCommand
    | ApproveCommand
    | VerseCommand
    | AddRuleCommand
    | HoldTermCommand
    | AddNotesCommand
    | DropNoteCommand
)
AccessMessage: TypeAlias = AuthMessage | PairMessage | InviteMessage | RevokeMessage
ClientMessage: TypeAlias = AckMessage | AccessMessage | CommandMessage


def caption_of(command: CommandMessage) -> int:
    """Return the id of the caption that a command concerns, 0 if none."""
    # 0 is no caption's id: they count from 1.
    return command.id if isinstance(command, CaptionCommand) else 0
