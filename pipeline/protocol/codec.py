"""Protocol version 1 (docs/PROTOCOL.md): messages to displays as JSON, messages from them checked.

Nothing here touches a socket. What a client sends is either one of the values below or a
ProtocolError whose code and message go back to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson

from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.types import COMMANDS, CommandName, Mode, State
from pipeline.protocol.fields import boolean, inner, integer, line, number, read_object, string

PROTOCOL = 1
MAX_BYTES = 16 * 1024
"""Bytes that a client's message may have."""
MAX_TEXT = 2000
"""Characters that an operator's text may have."""
MAX_PHRASE = 80
"""Characters that either side of an operator's dictionary rule may have."""


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
    """What an operator wants done."""

    name: CommandName
    id: int = 0
    """The caption, for edit and hide."""
    text: str = ""
    """Its new text, for edit."""
    heard: str = ""
    """What is recognized, for add-rule."""
    write: str = ""
    """What to write instead, for add-rule."""


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


def earlier(captions: Iterable[Message]) -> bytes:
    """Encode the captions that a short `hello` has left out."""
    return encode({"type": "earlier", "captions": list(captions)})


def alive(seq: int) -> bytes:
    """Encode a sign of life."""
    return encode({"type": "alive", "seq": seq})


def done(name: CommandName, controls: Mapping[str, Any]) -> bytes:
    """Encode that a command was obeyed, and how what operators control is now."""
    return encode({"type": "done", "name": name, **controls})


def reloaded(
    *, live: Sequence[str], next_utterance: Sequence[str], restart: Sequence[str], rules: int
) -> bytes:
    """Encode that settings and dictionary were read again: the keys that differ, by effect."""
    return encode(
        {
            "type": "reloaded",
            "live": live,
            "next_utterance": next_utterance,
            "restart": restart,
            "rules": rules,
        }
    )


def rule(rule_id: str, heard: str, write: str, *, removed: bool) -> bytes:
    """Encode that an operator has added a rule to the dictionary, or taken it back."""
    return encode(
        {"type": "rule", "id": rule_id, "heard": heard, "write": write, "removed": removed}
    )


def fault(stage: str, code: str, message: str) -> bytes:
    """Encode that something went wrong and the daemon went on."""
    return encode({"type": "fault", "stage": stage, "code": code, "message": message})


def purged(from_s: float, to_s: float) -> bytes:
    """Encode that what was spoken between two times of the audio is gone."""
    return encode({"type": "purged", "from_s": from_s, "to_s": to_s})


def console(
    *,
    address: str,
    utterances: Iterable[Mapping[str, Any]],
    compares: Iterable[Mapping[str, Any]],
    dictionary: str = "",
    undo: str = "",
    paused: bool = False,
    blank: bool = False,
    off_record: bool = False,
    off_record_s: float = 0.0,
    purged: Iterable[tuple[float, float]] = (),
    check: Mapping[str, Any] | None = None,
) -> bytes:
    """Encode what an operator's page needs to be up to date."""
    return encode(
        {
            "type": "console",
            "address": address,
            "dictionary": dictionary,
            "undo": undo,
            "paused": paused,
            "blank": blank,
            "off_record": off_record,
            "off_record_s": off_record_s,
            "purged": [{"from_s": from_s, "to_s": to_s} for from_s, to_s in purged],
            "utterances": [{**record, "type": "utterance"} for record in utterances],
            "compares": list(compares),
            "check": check,
        }
    )


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
            raise ProtocolError("unknown-type", f"{quoted(other)} is not a type. Known: {known}.")


def parse_caption(line: str | bytes) -> Message:
    """Read back an encoded caption message, such as a line of the journal.

    Raises ProtocolError (bad-json, unknown-type, bad-field).
    """
    fields = read_object(line)
    if fields.get("type") != "caption":
        raise ProtocolError("unknown-type", f"{quoted(fields.get('type'))} is not caption.")
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
            message = f"{quoted(wanted)} is not a command. Known: {known}."
            raise ProtocolError("unknown-command", message)
        case "edit":
            return Command(name, integer(fields, "id", 0), line(fields, "text", MAX_TEXT))
        case "hide":
            return Command(name, integer(fields, "id", 0))
        case "add-rule":
            heard, write = line(fields, "heard", MAX_PHRASE), line(fields, "write", MAX_PHRASE)
            for key, text in (("heard", heard), ("write", write)):
                if not any(map(str.isalnum, text)):
                    raise ProtocolError("bad-field", f"{key} has a letter or a digit in it.")
            if heard == write:
                raise ProtocolError("bad-field", "heard and write are not the same.")
            return Command(name, heard=heard, write=write)
        case _:
            return Command(name)
