"""Operators' commands by their names."""

from __future__ import annotations

from pipeline.protocol.commands import (
    AddRuleCommand,
    ApproveCommand,
    CommandMessage,
    CorrectCommand,
    EditCommand,
    HideCommand,
    HoldTermCommand,
    PlainCommand,
    TypeCommand,
    VerseCommand,
)


def command(  # noqa: PLR0911 - one for each kind
    name: str,
    id: int = 0,  # noqa: A002
    text: str = "",
    *,
    heard: str = "",
    lang: str = "en",
    write: str = "",
) -> CommandMessage:
    """Return an operator's command; the fields that its kind does not have are left out."""
    match name:
        case "edit" | "correct":
            if name == "correct":
                return CorrectCommand(id=id, text=text)
            return EditCommand(id=id, text=text, lang="" if lang == "en" else lang)
        case "say" | "notice":
            return TypeCommand(name=name, text=text, lang=lang)
        case "hide" | "approve":
            return (HideCommand if name == "hide" else ApproveCommand)(id=id)
        case "take-verse" | "dismiss-verse":
            return VerseCommand(name=name, id=id)
        case "hold-term" | "add-rule" | "hold-rule":
            if name == "hold-term":
                return HoldTermCommand(say=heard, write=write, instead=text)
            return AddRuleCommand(name=name, heard=heard, write=write)
        case _:
            return PlainCommand(name=name)  # type: ignore[arg-type]
