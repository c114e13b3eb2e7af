"""Messages from displays: acks, an operator's token, commands. The types validate them. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo

from pipeline.core.errors import ProtocolError
from pipeline.core.types import CaptionCommandName, PlainName
from pipeline.protocol.caption import Count

MAX_TEXT = 2000
"""Limit of an operator's text, characters."""
MAX_PHRASE = 80
"""Limit of each side of an operator's dictionary rule, characters."""


def one_line(most: int) -> Callable[[Any, ValidationInfo], Any]:
    """Return a validator that turns control characters and white space into single spaces.

    Other types pass through to pydantic's own check. The validator raises ProtocolError (bad-field)
    for a text of more than `most` characters or of none.
    """

    def clean(value: Any, info: ValidationInfo) -> Any:
        # An empty text also passes: the field's own check refuses it with the usual message.
        if not (isinstance(value, str) and value):
            return value
        # Control characters can control a terminal, and a caption is one line in every file.
        printable = "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in value)
        text = " ".join(printable.split())
        if not 0 < len(text) <= most:
            # Not a ValueError, which pydantic would wrap: this one keeps its code.
            raise ProtocolError("bad-field", f"{info.field_name} has 1 to {most} characters.")
        return text

    return clean


def optional_line(value: Any, info: ValidationInfo) -> Any:
    """Return a text as `one_line` does, or an empty one as it is."""
    # An empty text has a meaning here, so it must not be refused.
    return value and one_line(MAX_TEXT)(value, info)


Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), BeforeValidator(one_line(MAX_TEXT))]
Phrase = Annotated[
    str, Field(min_length=1, max_length=MAX_PHRASE), BeforeValidator(one_line(MAX_PHRASE))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessage:
    """A display has painted everything up to `seq`."""

    # The discriminator comes first; kw_only allows fields without a default after one with a
    # default.
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
"""Limit of a part of such a file in Base64, characters: a message has 16 kB at most."""
MAX_NAME = 40
"""Limit of a volunteer's name, characters."""
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), BeforeValidator(one_line(MAX_NAME))]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMessage:
    """A code from the operator's page, sent to get a token for this device."""

    type: Literal["pair"] = "pair"
    # Six digits, and room for characters between them: only digits are compared.
    code: Annotated[str, Field(min_length=1, max_length=20)]
    name: Name
    """The volunteer's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteMessage:
    """An operator asks for a code that pairs one more device."""

    type: Literal["invite"] = "invite"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeMessage:
    """An operator revokes the access of all devices of a volunteer."""

    type: Literal["revoke"] = "revoke"
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommand:
    """An operator's command without arguments: a change of state, undo, or a reload."""

    type: Literal["command"] = "command"
    name: PlainName
    step: Annotated[str, Field(max_length=MAX_TEXT)] = ""
    """What the page shows that `undo` takes back; "": the newest step, whatever it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenCommand:
    """An operator says which of several languages is spoken; "": the program detects it."""

    type: Literal["command"] = "command"
    name: Literal["spoken"] = "spoken"
    # Checked later against the spoken languages in the settings.
    lang: Annotated[str, Field(max_length=3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionCommand:
    """The fields of all commands about one caption."""

    type: Literal["command"] = "command"
    id: Count
    # All target languages share caption ids: an id alone would name one caption in each.
    lang: str = ""
    """The target language whose caption the operator has seen; "" is the first one."""
    # Two operators must not overwrite each other's changes unseen.
    revision: Count = 0
    """The revision that the operator has seen: refused if there is a newer one. 0: no check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCommand(CaptionCommand):
    """An operator replaces a caption's target text in `lang`."""

    name: Literal["edit"] = "edit"
    text: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectCommand(CaptionCommand):
    """An operator replaces a caption's source text; it is translated again."""

    name: Literal["correct"] = "correct"
    text: Text
    target: Annotated[str, BeforeValidator(optional_line)] = ""
    """An operator's own translation into `lang`; "": the translators make it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCommand:
    """An operator types a caption that nobody has spoken, or a notice.

    Text in the spoken language is translated; text in a target language is shown unchanged.
    """

    type: Literal["command"] = "command"
    name: Literal["notice", "say"]
    text: Text
    lang: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCaptionCommand(CaptionCommand):
    """An operator's command about a caption, without other arguments.

    `hide` takes it off all displays, and `show` shows it again. `approve` shows a doubtful one now,
    without a mark. `settle`: an operator begins to edit it, so new speech is no longer appended to
    it. `take-verse` shows the verse that is suggested for it; `dismiss-verse` dismisses that verse.
    """

    name: CaptionCommandName


def _require_words(**texts: str) -> None:
    """Refuse a text of punctuation alone, which would match nothing, or everything."""
    for key, text in texts.items():
        if not any(map(str.isalnum, text)):
            raise ProtocolError("bad-field", f"{key} has a letter or a digit in it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRuleCommand:
    """An operator adds a rule to the church's dictionary file, or only for this service.

    With `preview-rule` the operator asks what the rule would change.
    """

    type: Literal["command"] = "command"
    name: Literal["add-rule", "hold-rule", "preview-rule"] = "add-rule"
    heard: Phrase
    write: Phrase

    def __post_init__(self) -> None:
        _require_words(heard=self.heard, write=self.write)
        # An exact comparison: a rule may change only case or an accent.
        if self.heard == self.write:
            raise ProtocolError("bad-field", "heard and write are not the same.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldTermCommand:
    """An operator sets the translation of a word for this service.

    With `preview-term` the operator asks what that would change.
    """

    type: Literal["command"] = "command"
    name: Literal["hold-term", "preview-term"] = "hold-term"
    say: Phrase
    """The word in the spoken language."""
    write: Phrase
    # Exactly as in the caption, with its spaces: a cleaned text might not be found there.
    instead: Annotated[str, Field(max_length=MAX_PHRASE)] = ""
    """The current translation, which is replaced in the captions on the screens."""

    def __post_init__(self) -> None:
        _require_words(say=self.say, write=self.write)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNotesCommand:
    """A part of a file of sermon notes; after the last one the notes are extracted and used."""

    type: Literal["command"] = "command"
    name: Literal["add-notes"] = "add-notes"
    file: Phrase
    """Its name; the ending is its type: .docx, .pdf, .md, .txt."""
    size: Annotated[int, Field(ge=1, le=MAX_FILE)]
    """Size of the whole file, bytes."""
    # A part that does not follow the previous one is refused; the page sends the file again.
    at: Count
    """Where this part begins, bytes; 0 restarts the file."""
    # JSON has no bytes.
    data: Annotated[str, Field(min_length=1, max_length=MAX_PART)]
    """The part's content in Base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropNoteCommand:
    """An operator removes a wrong entry of the notes."""

    type: Literal["command"] = "command"
    name: Literal["drop-note"] = "drop-note"
    # By its words, not its position: another operator may have changed the list.
    entry: Text
    """A name, verse, number or translation, as listed."""


CommandMessage: TypeAlias = (
    PlainCommand
    | SpokenCommand
    | EditCommand
    | CorrectCommand
    | TypeCommand
    | PlainCaptionCommand
    | AddRuleCommand
    | HoldTermCommand
    | AddNotesCommand
    | DropNoteCommand
)
AccessMessage: TypeAlias = AuthMessage | PairMessage | InviteMessage | RevokeMessage
ClientMessage: TypeAlias = AckMessage | AccessMessage | CommandMessage


def caption_of(command: CommandMessage) -> int:
    """Return the id of the caption that a command concerns, 0 if none."""
    # No caption has the id 0: ids count from 1.
    return command.id if isinstance(command, CaptionCommand) else 0
