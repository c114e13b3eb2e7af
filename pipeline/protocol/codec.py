"""Protocol version 1 (docs/PROTOCOL.md): messages to displays as JSON, messages from them checked.

Nothing here touches a socket. What a client sends is either a value of pipeline.protocol.commands
or a ProtocolError whose code and message go back to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from pipeline.core.errors import ProtocolError, quoted
from pipeline.core.types import COMMANDS
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import AckMessage, AuthMessage, ClientMessage, CommandMessage
from pipeline.protocol.messages import ErrorMessage, Outgoing

MAX_BYTES = 16 * 1024
"""Bytes that a client's message may have."""

T = TypeVar("T")
_Command: TypeAlias = Annotated[CommandMessage, Field(discriminator="name")]
_CLIENT: TypeAdapter[ClientMessage] = TypeAdapter(
    Annotated[AckMessage | AuthMessage | _Command, Field(discriminator="type")]
)
_CAPTION = TypeAdapter(CaptionMessage)
_SAYS = {
    **dict.fromkeys(("seq", "id"), "is a whole number from 0"),
    **dict.fromkeys(("token", "text", "heard", "write"), "is a string, not empty"),
    "type": "is not a type. Known: ack, auth, command",
    "name": f"is not a command. Known: {', '.join(COMMANDS)}",
}
"""What is to be said of a client's field that is wrong."""
_UNKNOWN = "is not a type that is known here"
_CODES = {"name": "unknown-command", "outcome": "bad-field"}
"""Of a tag that is none of those there are, where that is no unknown type."""


def encode(message: Outgoing) -> bytes:
    """Return a message as JSON, UTF-8. Floats that JSON cannot say become null."""
    return orjson.dumps(message)


def error(problem: ProtocolError) -> bytes:
    """Encode why something was refused."""
    return encode(ErrorMessage(code=problem.code, message=problem.message))


def parse(raw: str | bytes) -> ClientMessage:
    """Check what a client sent. Raises ProtocolError; its code is one of docs/PROTOCOL.md."""
    if isinstance(raw, bytes):
        raise ProtocolError("binary-not-accepted", "Messages are text frames.")
    if len(raw) > MAX_BYTES or len(data := raw.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ProtocolError("too-large", f"A message may have at most {MAX_BYTES} bytes.")
    return parse_json(_CLIENT, data, _SAYS)


def parse_caption(line: str | bytes) -> CaptionMessage:
    """Read back an encoded caption message, such as a line of the journal.

    Raises ProtocolError (bad-json, unknown-type, bad-field).
    """
    return parse_json(_CAPTION, line)


def parse_json(kind: TypeAdapter[T], data: str | bytes, says: Mapping[str, str] | None = None) -> T:
    """Return the value of a type that JSON holds; fields that the type does not have are ignored.

    Raises ProtocolError (bad-json, unknown-type, unknown-command, bad-field), which names the field
    and says what it has to be: by `says`, else in pydantic's words.
    """
    try:
        return kind.validate_json(data, strict=True)
    except ValidationError as error:
        raise _refusal(error, says or {}) from None


def _refusal(error: ValidationError, says: Mapping[str, str]) -> ProtocolError:
    """Return the first thing that is wrong."""
    problem: Mapping[str, Any] = error.errors(include_url=False)[0]
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "json_invalid":
        return ProtocolError("bad-json", f"Not JSON: {problem['ctx']['error']}.")
    if kind.startswith("union_tag") and isinstance(given, dict):
        tag = str(problem["ctx"]["discriminator"]).strip("'")
        code = _CODES.get(tag, "unknown-type")
        return ProtocolError(code, f"{quoted(given.get(tag))} {says.get(tag, _UNKNOWN)}.")
    if place[-1:] == ("type",):
        return ProtocolError("unknown-type", f"{quoted(given)} {_UNKNOWN}.")
    if not place:
        return ProtocolError("bad-json", "A message is a JSON object.")
    key = str(place[-1])
    if key in says:
        return ProtocolError("bad-field", f"{key} {says[key]}.")
    where = ".".join(map(str, place))
    return ProtocolError("bad-field", f"{where}: {problem['msg']}.")
