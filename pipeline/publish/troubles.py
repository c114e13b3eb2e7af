"""What the client of NATS says of a trouble, as errors of ours: what it means, and what helps."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from pipeline.core.errors import PublishError

_FULL = (10023, 10047, 10054, 10077)
"""JetStream's codes for: resources, storage, bytes or messages at their limit."""
_TROUBLES: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        ("authorization", "authentication", "permissions violation", "nkey", "credential"),
        "publish-refused",
        "refuses this user",
        "Look at publish.nats and publish.credentials.",
    ),
    (
        ("insufficient", "no space", "maximum bytes", "maximum messages", "limit reached"),
        "publish-full",
        "has no room left",
        "Free its disk, or raise its limits.",
    ),
    (
        ("expecting info", "info message", "parse error", "not enough values", "empty response"),
        "publish-not-nats",
        "answers, but is no NATS server",
        "Look at publish.nats: its port is 4222, unless someone chose another.",
    ),
    (
        ("serviceunavailable", "no responders", "jetstream not enabled", "nostreamresponse"),
        "publish-no-jetstream",
        "has no JetStream, is short of it, or has lost the stream",
        "If that lasts: start it with --jetstream, and look at its log.",
    ),
    (
        ("certificate", "ssl", "tls", "secure"),
        "publish-tls",
        "cannot be reached over TLS",
        "Look at its certificate, at publish.ca_file, and at tls:// in publish.nats.",
    ),
)
"""What is found in the client's words, then our code, what it means, and what helps."""


def place_of(url: str) -> str:
    """Return host and port of an address, for messages: no password in it."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or 4222}"


def explain(error: Exception, place: str) -> PublishError:
    """Return what the client says as an error of ours."""
    if isinstance(error, PublishError):
        return error
    # By its number where it has one; words are looked through for the rest.
    number = getattr(error, "err_code", None)
    text = f"{type(error).__name__} {error}"
    if number in _FULL:
        text = "insufficient"
    if isinstance(error, ssl.SSLError):
        text = "ssl"
    said = text.lower()
    for words, code, meaning, fix in _TROUBLES:
        if any(word in said for word in words):
            return PublishError(code, f"The NATS server {place} {meaning}.", fix)
    reason = str(error) or type(error).__name__
    return PublishError(
        "publish-unreachable",
        f"The NATS server {place} does not answer: {reason}.",
        "Captions in the hall go on; what is missing there follows.",
    )


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Raise what goes wrong inside as a PublishError of the server at `place`."""
    try:
        yield
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled us: the client did so to its own waits, as its connection broke.
        raise explain(ConnectionError("the connection broke"), place) from error
    except Exception as error:
        raise explain(error, place) from error
