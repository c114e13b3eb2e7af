"""The church's stream in NATS JetStream: subjects, message ids and what a message holds. Pure.

    captions.CHURCH.status                   the service as displays know it, and signs of life
    captions.CHURCH.SESSION.LANG.ID          the newest version of one caption

The stream keeps one message a subject. So it holds what a display that joins now would be sent,
and a version that an operator has replaced or hidden does not stay in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import orjson
from pydantic import TypeAdapter

from pipeline.core.types import Mode, State
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import encode, parse_caption, parse_json

_ROOT = "captions"
_STATUS = "status"
_NO_TOKEN = re.compile(r"[^\w+-]+", re.ASCII)
"""What must not be in a token of a subject: NATS splits at dots; `*`, `>` are wildcards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """What displays know of a service beside its captions. No reasons: those are for operators."""

    session: str
    mode: Mode
    source: str
    """Language spoken."""
    targets: tuple[str, ...]
    """Languages shown."""
    state: State
    notice: dict[str, str] = field(default_factory=dict)
    """The notice that stands, by language."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message for the stream."""

    subject: str
    id: str
    """The same for the same content: the server drops what it has had within two minutes."""
    data: bytes
    erases: bool = False
    """Whether the version before it has to be overwritten on the server's disk."""
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class StreamCaption:
    """A caption out of the stream."""

    session: str
    lang: str
    """The language that it was made for; `target.lang` may be the source language."""
    message: CaptionMessage


_SERVICE = TypeAdapter(ServiceStatus)


def stream_name(church: str) -> str:
    """Return the name of a church's stream."""
    return f"captions-{church}"


def all_subjects(church: str) -> str:
    """Return the pattern of all of its subjects."""
    return f"{_ROOT}.{church}.>"


def caption_out(church: str, session: str, lang: str, message: CaptionMessage) -> StreamMessage:
    """Return a caption as it goes into the stream; `lang` is the one that it was made for."""
    session = _token(session)
    by_operator = message.corrected or message.target.engine == "operator"
    is_gone = not (message.source.text or message.target.text)
    return StreamMessage(
        f"{_ROOT}.{church}.{session}.{lang}.{message.id}",
        f"{session},{message.id},{message.revision},{lang}",
        encode(message),
        # Versions of a growing caption are not erased: that takes the server two more requests.
        erases=message.revision > 1 and (by_operator or is_gone),
        is_final=message.final,
    )


def status_out(church: str, status: ServiceStatus, number: int) -> StreamMessage:
    """Return the service's status; `number` counts them."""
    message_id = f"{_token(status.session)},{_STATUS},{number}"
    return StreamMessage(f"{_ROOT}.{church}.{_STATUS}", message_id, orjson.dumps(status))


def parse_stream(church: str, subject: str, data: bytes) -> ServiceStatus | StreamCaption | None:
    """Return what a message of the stream holds; None if its subject is none of ours.

    Raises ProtocolError (bad-json, unknown-type, bad-field).
    """
    root = f"{_ROOT}.{church}."
    tokens = subject.removeprefix(root).split(".") if subject.startswith(root) else []
    if tokens == [_STATUS]:
        return parse_json(_SERVICE, data)
    if len(tokens) != 3:
        return None
    session, lang, _ = tokens
    return StreamCaption(session, lang, parse_caption(data))


def is_of(caption: StreamCaption, session: str) -> bool:
    """Whether a caption belongs to the session of that name."""
    return caption.session == _token(session)


def _token(name: str) -> str:
    # Never empty: NATS refuses a subject with nothing between two dots.
    return _NO_TOKEN.sub("-", name) or "-"
