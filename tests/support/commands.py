"""Make operators' commands by name."""

from __future__ import annotations

from pipeline.protocol.commands import (
    AddRuleCommand,
    CommandMessage,
    CorrectCommand,
    EditCommand,
    HoldTermCommand,
    PlainCaptionCommand,
    PlainCommand,
    TypeCommand,
)


def command(  # noqa: PLR0911 - one return for each kind
    name: str,
    id: int = 0,  # noqa: A002
    text: str = "",
    *,
    heard: str = "",
    lang: str = "en",
    write: str = "",
    revision: int = 0,
) -> CommandMessage:
    """Return an operator's command; it ignores arguments that its kind does not have."""
    match name:
        case "edit" | "correct":
            lang = "" if lang == "en" else lang
            if name == "correct":
                return CorrectCommand(id=id, text=text, lang=lang, target=write, revision=revision)
            return EditCommand(id=id, text=text, lang=lang, revision=revision)
        case "say" | "notice":
            return TypeCommand(name=name, text=text, lang=lang)
        case "hide" | "show" | "approve" | "settle" | "take-verse" | "dismiss-verse":
            lang = "" if lang == "en" else lang
            return PlainCaptionCommand(name=name, id=id, lang=lang, revision=revision)
        case "hold-term" | "add-rule" | "hold-rule" | "preview-rule":
            if name == "hold-term":
                return HoldTermCommand(say=heard, write=write, instead=text)
            return AddRuleCommand(name=name, heard=heard, write=write)
        case _:
            return PlainCommand(name=name, step=text)  # type: ignore[arg-type]
