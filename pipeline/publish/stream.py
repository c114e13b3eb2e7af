"""The church's stream in NATS JetStream: subjects and message contents. Pure.

    captions.CHURCH.status                   the service's status for displays, and signs of life
    captions.CHURCH.SESSION.LANG.ID          the newest version of one caption

The stream holds the newest message of each subject, which is what a new display needs.
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
"""Forbidden in a token of a subject: NATS splits at dots, and `*` and `>` are wildcards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """What displays know about a service besides its captions. Reasons go only to operators."""

    session: str
    mode: Mode
    source: str
    """Language spoken."""
    targets: tuple[str, ...]
    """Languages shown."""
    state: State
    notice: dict[str, str] = field(default_factory=dict)
    """The current notice, by language."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message for the stream."""

    subject: str
    data: bytes
    takes_back: bool = False
    """Whether it withdraws earlier text: it must arrive, however long the uplink is down."""
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class StreamCaption:
    """A caption from the stream."""

    session: str
    lang: str
    """The target language; `target.lang` may be the source language."""
    message: CaptionMessage


_SERVICE = TypeAdapter(ServiceStatus)


def stream_name(church: str) -> str:
    """Return the name of a church's stream."""
    return f"captions-{church}"


def all_subjects(church: str) -> str:
    """Return the pattern of all subjects of a church's stream."""
    return f"{_ROOT}.{church}.>"


def caption_out(church: str, session: str, lang: str, message: CaptionMessage) -> StreamMessage:
    """Return a caption as a message for the stream; `lang` is its target language."""
    by_operator = message.corrected or message.target.engine == "operator"
    is_gone = not (message.source.text or message.target.text)
    return StreamMessage(
        f"{_ROOT}.{church}.{_token(session)}.{lang}.{message.id}",
        encode(message),
        # A first version withdraws nothing, since nobody has seen an earlier one.
        takes_back=message.revision > 1 and (by_operator or is_gone),
        is_final=message.final,
    )


def status_out(church: str, status: ServiceStatus) -> StreamMessage:
    """Return the status as a message. It may withdraw an earlier status's notice."""
    return StreamMessage(f"{_ROOT}.{church}.{_STATUS}", orjson.dumps(status), takes_back=True)


def parse_stream(church: str, subject: str, data: bytes) -> ServiceStatus | StreamCaption | None:
    """Return the content of a message of the stream; None if its subject is unknown.

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
    """Whether a caption belongs to the session with this name."""
    return caption.session == _token(session)


def _token(name: str) -> str:
    # Never empty: NATS refuses a subject with an empty token.
    return _NO_TOKEN.sub("-", name) or "-"
