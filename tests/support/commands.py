"""Operators' commands by their names."""

from __future__ import annotations

from pipeline.protocol.commands import (
    AddRuleCommand,
    CommandMessage,
    EditCommand,
    HideCommand,
    PlainCommand,
    VerseCommand,
)


def command(
    name: str,
    id: int = 0,  # noqa: A002
    text: str = "",
    *,
    heard: str = "",
    write: str = "",
) -> CommandMessage:
    """Return an operator's command; the fields that its kind does not have are left out."""
    match name:
        case "edit":
            return EditCommand(id=id, text=text)
        case "hide":
            return HideCommand(id=id)
        case "take-verse" | "dismiss-verse":
            return VerseCommand(name=name, id=id)
        case "add-rule":
            return AddRuleCommand(heard=heard, write=write)
        case _:
            return PlainCommand(name=name)  # type: ignore[arg-type]
