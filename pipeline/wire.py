"""Protocol version 1 (docs/PROTOCOL.md): messages to displays as JSON, messages from them checked.

Nothing here touches a socket. What a client sends is either one of the values below or a
ProtocolError whose code and message go back to it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import parse_qs

import orjson

from pipeline.errors import ProtocolError
from pipeline.events import State
from pipeline.fields import boolean, inner, integer, number, read_object, shown, string

PROTOCOL = 1
MAX_BYTES = 16 * 1024
"""Bytes that a client's message may have."""
MAX_TEXT = 2000
"""Characters that an operator's text may have."""

Mode = Literal["live", "dry-run", "demo"]
Kind = Literal["audience", "projector", "obs", "operator"]
CommandName = Literal["blank", "edit", "hide", "pause", "resume", "unblank"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMMANDS: tuple[CommandName, ...] = get_args(CommandName)


@dataclass(frozen=True, slots=True)
class SourceText:
    """What was said."""

    lang: str
    text: str


@dataclass(frozen=True, slots=True)
class TargetText:
    """What is shown. `lang` is the source language where no translation could be had."""

    lang: str
    text: str
    engine: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A `caption` message: one version of one caption, as sent, journaled and restored."""

    type: Literal["caption"] = "caption"
    seq: int
    id: int
    revision: int
    final: bool
    start_s: float
    end_s: float
    source: SourceText
    target: TargetText
    stable: int
    """Leading code points of `target.text` that will most likely not change again."""


@dataclass(frozen=True, slots=True)
class Ack:
    """A display has painted everything up to `seq`."""

    seq: int


@dataclass(frozen=True, slots=True)
class Auth:
    """An operator's token."""

    token: str


@dataclass(frozen=True, slots=True)
class Command:
    """What an operator wants done. `id` is set for edit and hide, `text` for edit."""

    name: CommandName
    id: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Subscription:
    """The query of `/ws`. `since` None asks for the whole history."""

    lang: str
    kind: Kind
    since: int | None
    session: str
    """Session that `since` belongs to; empty if the display does not say."""


ClientMessage: TypeAlias = Ack | Auth | Command


def encode(message: Message | Mapping[str, Any]) -> bytes:
    """Return a message as JSON, UTF-8. Floats that JSON cannot say become null."""
    return orjson.dumps(message)


def hello(
    *,
    session: str,
    mode: Mode,
    seq: int,
    source: str,
    target: str,
    lang: str,
    state: State,
    reason: str,
    resumed: bool,
    captions: Iterable[Message],
) -> bytes:
    """Encode the first message on a connection."""
    return encode(
        {
            "type": "hello",
            "protocol": PROTOCOL,
            "session": session,
            "mode": mode,
            "seq": seq,
            "source": source,
            "targets": [target],
            "lang": lang,
            "state": state,
            "reason": reason,
            "resumed": resumed,
            "captions": list(captions),
        }
    )


def status(mode: Mode, seq: int, state: State, reason: str) -> bytes:
    """Encode a change of state."""
    return encode({"type": "status", "mode": mode, "seq": seq, "state": state, "reason": reason})


def level(dbfs: float, clipped: bool) -> bytes:
    """Encode the input level, decibels to full scale."""
    return encode({"type": "level", "dbfs": round(float(dbfs), 1), "clipped": clipped})


def utterance(record: Mapping[str, Any]) -> bytes:
    """Encode the diagnostics record of an utterance."""
    return encode({**record, "type": "utterance"})


def authorized() -> bytes:
    """Encode the answer to a right token."""
    return encode({"type": "authorized"})


def error(problem: ProtocolError) -> bytes:
    """Encode why something was refused."""
    return encode({"type": "error", "code": problem.code, "message": problem.message})


def parse(raw: str | bytes) -> ClientMessage:
    """Check what a client sent. Raises ProtocolError; its code is one of docs/PROTOCOL.md."""
    if isinstance(raw, bytes):
        raise ProtocolError("binary-not-accepted", "Messages are text frames.")
    if len(raw) > MAX_BYTES or len(data := raw.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ProtocolError("too-large", f"A message may have at most {MAX_BYTES} bytes.")
    fields = read_object(data)
    match fields.get("type"):
        case "ack":
            return Ack(integer(fields, "seq", 0))
        case "auth":
            return Auth(string(fields, "token"))
        case "command":
            return _command(fields)
        case other:
            known = "ack, auth, command"
            raise ProtocolError("unknown-type", f"{shown(other)} is not a type. Known: {known}.")


def parse_subscription(query: str, source: str, target: str) -> Subscription:
    """Check the query of `/ws`. Raises ProtocolError (unknown-lang, bad-field)."""
    given = {key: values[0] for key, values in parse_qs(query, keep_blank_values=True).items()}
    lang = given.get("lang", target)
    if lang not in (source, target):
        raise ProtocolError("unknown-lang", f"{shown(lang)} is not shown: {source}, {target} are.")
    wanted = given.get("kind", "audience")
    kind = next((kind for kind in KINDS if kind == wanted), None)
    if kind is None:
        raise ProtocolError("bad-field", f"kind is one of {', '.join(KINDS)}.")
    digits = given.get("since")
    # 16 digits hold every seq, and keep a hostile query from costing a conversion.
    if digits is not None and not (digits.isascii() and digits.isdigit() and len(digits) <= 16):
        raise ProtocolError("bad-field", "since is a whole number from 0.")
    return Subscription(
        lang, kind, None if digits is None else int(digits), given.get("session", "")
    )


def parse_caption(line: str | bytes) -> Message:
    """Read back an encoded caption message, such as a line of the journal.

    Raises ProtocolError (bad-json, unknown-type, bad-field).
    """
    fields = read_object(line)
    if fields.get("type") != "caption":
        raise ProtocolError("unknown-type", f"{shown(fields.get('type'))} is not caption.")
    source, target = inner(fields, "source"), inner(fields, "target")
    return Message(
        seq=integer(fields, "seq", 1),
        id=integer(fields, "id", 0),
        revision=integer(fields, "revision", 1),
        final=boolean(fields, "final"),
        start_s=number(fields, "start_s"),
        end_s=number(fields, "end_s"),
        source=SourceText(string(source, "lang"), string(source, "text", empty=True)),
        target=TargetText(
            string(target, "lang"),
            string(target, "text", empty=True),
            string(target, "engine", empty=True),
        ),
        stable=integer(fields, "stable", 0),
    )


def _command(fields: Mapping[str, Any]) -> Command:
    wanted = fields.get("name")
    name = next((name for name in COMMANDS if name == wanted), None)
    match name:
        case None:
            known = ", ".join(COMMANDS)
            message = f"{shown(wanted)} is not a command. Known: {known}."
            raise ProtocolError("unknown-command", message)
        case "edit":
            return Command(name, integer(fields, "id", 0), _edited(fields))
        case "hide":
            return Command(name, integer(fields, "id", 0))
        case _:
            return Command(name)


def _edited(fields: Mapping[str, Any]) -> str:
    text = string(fields, "text")
    printable = "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in text)
    text = " ".join(printable.split())
    if not 0 < len(text) <= MAX_TEXT:
        raise ProtocolError("bad-field", f"text has 1 to {MAX_TEXT} characters; or use hide.")
    return text
