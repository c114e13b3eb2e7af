"""Encode messages to displays as JSON; validate messages from them (docs/PROTOCOL.md). Pure.

A client's message becomes a value of pipeline.protocol.commands, or a ProtocolError whose code and
message are sent back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.types import COMMANDS
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import AccessMessage, AckMessage, ClientMessage, CommandMessage
from pipeline.protocol.messages import ErrorMessage, Outgoing

MAX_BYTES = 16 * 1024
"""Limit of a client's message, bytes."""

T = TypeVar("T")
# By `name`, so that pydantic reports only the errors of that command, not of all commands.
_Command: TypeAlias = Annotated[CommandMessage, Field(discriminator="name")]
_CLIENT: TypeAdapter[ClientMessage] = TypeAdapter(
    Annotated[AckMessage | AccessMessage | _Command, Field(discriminator="type")]
)
_CAPTION = TypeAdapter(CaptionMessage)
_SAYS = {
    **dict.fromkeys(("seq", "id", "revision"), "is a whole number from 0"),
    **dict.fromkeys(
        ("token", "text", "heard", "write", "say", "lang", "code"), "is a string, not empty"
    ),
    "type": "is not a type. Known: ack, auth, command, invite, pair, revoke",
    "name": f"is not a command. Known: {', '.join(COMMANDS)}",
}
"""The sentence for each field of a client's message that can be wrong."""
_UNKNOWN = "is not a type that is known here"
_CODES = {"name": "unknown-command", "outcome": "bad-field"}
"""Error codes for an unknown value of a discriminator; for all others it is unknown-type."""


def encode(message: Outgoing) -> bytes:
    """Return a message as JSON in UTF-8. NaN and infinity, unknown to JSON, become null."""
    # Dataclasses are written in the order of their fields, as documented.
    return orjson.dumps(message)


def error(problem: ProtocolError) -> bytes:
    """Return the error message for a refusal, encoded."""
    return encode(ErrorMessage(code=problem.code, message=problem.message))


def parse(raw: str | bytes) -> ClientMessage:
    """Parse a client's message. Raises ProtocolError with a code of docs/PROTOCOL.md."""
    # Pages send only text; the content of a binary frame would be a guess.
    if isinstance(raw, bytes):
        raise ProtocolError("binary-not-accepted", "Messages are text frames.")
    # Characters first, so that a huge text is refused without encoding it.
    # A lone surrogate passes through, so that it is refused as bad JSON and raises no other error.
    if len(raw) > MAX_BYTES or len(data := raw.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ProtocolError("too-large", f"A message may have at most {MAX_BYTES} bytes.")
    return parse_json(_CLIENT, data, _SAYS)


def parse_caption(line: str | bytes) -> CaptionMessage:
    """Decode a caption message, such as a line of the journal.

    Raises ProtocolError (bad-json, unknown-type, bad-field).
    """
    return parse_json(_CAPTION, line)


def parse_json(kind: TypeAdapter[T], data: str | bytes, says: Mapping[str, str] | None = None) -> T:
    """Decode JSON as a value of a type; unknown fields are ignored.

    Raises ProtocolError (bad-json, unknown-type, unknown-command, bad-field), which names the field
    and explains the error with `says`, else in pydantic's words.
    """
    try:
        # strict: a number in quotes is a client's error, not a number.
        return kind.validate_json(data, strict=True)
    except ValidationError as error:
        raise _refusal(error, says or {}) from None


def _refusal(error: ValidationError, says: Mapping[str, str]) -> ProtocolError:
    """Return the first of pydantic's errors as a ProtocolError."""
    # Only one, since the answer is a single code and a sentence.
    problem: Mapping[str, Any] = error.errors(include_url=False)[0]
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "json_invalid":
        return ProtocolError("bad-json", f"Not JSON: {problem['ctx']['error']}.")
    if kind.startswith("union_tag") and isinstance(given, dict):
        tag = str(problem["ctx"]["discriminator"]).strip("'")
        code = _CODES.get(tag, "unknown-type")
        return ProtocolError(code, f"{quoted(given.get(tag))} {says.get(tag, _UNKNOWN)}.")
    # If only one type is expected, its `type` is an ordinary field, not a discriminator.
    if place[-1:] == ("type",):
        return ProtocolError("unknown-type", f"{quoted(given)} {_UNKNOWN}.")
    if not place:
        return ProtocolError("bad-json", "A message is a JSON object.")
    # The innermost name: the outer ones belong to our unions and mean nothing to a client.
    key = str(place[-1])
    sentence = f"{'.'.join(map(str, place))}: {problem['msg']}."
    if kind == "string_too_long":
        sentence = f"{key} has at most {problem['ctx']['max_length']} characters."
    elif key in says:
        sentence = f"{key} {says[key]}."
    return ProtocolError("bad-field", sentence)
