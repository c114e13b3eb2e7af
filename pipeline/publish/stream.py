"""The church's stream in NATS JetStream: subjects, and what a message holds. Pure.

    captions.CHURCH.status                   the service as displays know it, and signs of life
    captions.CHURCH.SESSION.LANG.ID          the newest version of one caption

The stream holds the newest message of each subject: what a display that joins now would be sent.
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
    data: bytes
    takes_back: bool = False
    """Whether it takes earlier text away: it must arrive, however long the uplink is down."""
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
    by_operator = message.corrected or message.target.engine == "operator"
    is_gone = not (message.source.text or message.target.text)
    return StreamMessage(
        f"{_ROOT}.{church}.{_token(session)}.{lang}.{message.id}",
        encode(message),
        # A first version takes nothing back: nobody has seen one before it.
        takes_back=message.revision > 1 and (by_operator or is_gone),
        is_final=message.final,
    )


def status_out(church: str, status: ServiceStatus) -> StreamMessage:
    """Return the service's status; the notice of an earlier one may have been withdrawn."""
    return StreamMessage(f"{_ROOT}.{church}.{_STATUS}", orjson.dumps(status), takes_back=True)


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
