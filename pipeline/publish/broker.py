"""A connection to a church's stream in NATS JetStream, with errors in plain words.

One connection lives until something fails; then the caller makes a new one. So reconnecting always
works the same way, after a moment or an hour, and nothing waits inside the client library.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipeline.config.publishing import Publish
from pipeline.core.errors import PublishError, reading
from pipeline.core.resources import installing
from pipeline.publish.stream import StreamMessage, all_subjects, stream_name

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext
    from nats.js.api import StreamInfo

_CONNECT_S = 5
_ANSWER_S = 5.0
_PING_S = 5  # after two without an answer the connection counts as lost
_SILENCE_S = 5.0
"""After so long without a message a relay checks that the stream still exists."""
_HELD = 200_000
"""Messages that may wait in the client: a stream of days arrives faster than it is processed."""
_OTHER_VERSION = 10071
"""JetStream's code for: the newest message of this subject is not the expected one."""


@dataclass(frozen=True, slots=True)
class StreamState:
    """The state of a stream, as its server reports it."""

    created: datetime
    """It changes when the stream is deleted and created again."""
    newest: int
    """The sequence number of the newest message, 0 before the first."""


@dataclass(slots=True)
class Published:
    """What a publisher knows about the stream; it outlives a connection."""

    created: datetime | None = None
    newest: dict[str, int] = field(default_factory=dict)
    """The sequence number of the newest version, by subject."""
    replaced: set[int] = field(default_factory=set)
    """The sequence numbers of earlier versions, whose bytes are still on the server's disk."""

    def is_in(self, state: StreamState) -> bool:
        """Whether this is the stream that was published to and it has lost nothing since."""
        newest = max(self.newest.values(), default=0)
        return state.created == self.created and state.newest >= newest


class Broker:
    """An open connection to a church's stream. Belongs to one event loop."""

    def __init__(self, client: Client, church: str, place: str) -> None:
        self._client = client
        self._stream: JetStreamContext = client.jetstream(timeout=_ANSWER_S)
        self._church = church
        self._name = stream_name(church)
        self._place = place

    @classmethod
    async def connect(cls, settings: Publish) -> Broker:
        """Connect. Raises PublishError; its codes are those of this module's table and
        `publish-not-installed`, `publish-unreachable`, `publish-credentials`, `publish-ca`."""
        try:
            from nats.aio.client import Client  # noqa: PLC0415 - an extra
        except ImportError:
            message = "publish.nats is set, but the library for it is not installed."
            fix = f"Run: {installing('publish')}, or clear the setting."
            raise PublishError("publish-not-installed", message, fix) from None
        place = place_of(settings.nats)
        client = Client()
        with explained(place):
            try:
                await asyncio.wait_for(
                    client.connect(
                        settings.nats,
                        **_credentials(settings),
                        **_trust(settings),
                        name="stark-translate",
                        # The client must not wait: the caller reports, and connects anew.
                        allow_reconnect=False,
                        max_reconnect_attempts=1,
                        connect_timeout=_CONNECT_S,
                        # A cut line gives no signal; only unanswered pings show it.
                        ping_interval=_PING_S,
                        max_outstanding_pings=2,
                        error_cb=_quiet,
                    ),
                    2 * _CONNECT_S,
                )
            except BaseException:
                await _close(client)  # a half-made connection has a socket
                raise
        return cls(client, settings.church, place)

    async def ensure_stream(self, keep_hours: float) -> StreamState:
        """Create the stream, or update its limits. Raises PublishError."""
        from nats.js.api import DiscardPolicy, StorageType, StreamConfig  # noqa: PLC0415
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        config = StreamConfig(
            name=self._name,
            subjects=[all_subjects(self._church)],
            max_age=keep_hours * 3600,
            # JetStream would only unlink earlier versions; `publish` overwrites them.
            max_msgs_per_subject=-1,
            # A full stream drops the oldest captions, since viewers wait for new ones.
            discard=DiscardPolicy.OLD,
            storage=StorageType.FILE,
        )
        with explained(self._place):
            try:
                await self._stream.stream_info(self._name)
            except NotFoundError:
                return _state(await self._stream.add_stream(config))
            # Each time: the settings may have changed since the stream was created.
            return _state(await self._stream.update_stream(config))

    async def clear(self) -> None:
        """Remove all messages from the stream. Raises PublishError."""
        with explained(self._place):
            await self._stream.purge_stream(self._name)

    async def publish(self, message: StreamMessage, known: Published) -> None:
        """Publish, and overwrite versions replaced before; return when the server has done both.

        Raises PublishError.
        """
        with explained(self._place):
            # Wait for both: if one failed, the other would run on over a closed connection.
            added, erased = await asyncio.gather(
                self._add(message, known), self.erase(known), return_exceptions=True
            )
            for problem in (added, erased):
                if isinstance(problem, BaseException):
                    raise problem

    async def erase(self, known: Published) -> None:
        """Overwrite replaced versions on the server's disk. Raises PublishError."""
        with explained(self._place):
            # A copy: `_add` adds numbers while this waits for the server.
            for number in tuple(known.replaced):
                await self._overwrite(number)
                # Only now: an unconfirmed one is erased over the next connection.
                known.replaced.discard(number)

    async def state(self) -> StreamState:
        """Return the stream's state. Raises PublishError; `publish-no-stream` if there is none."""
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        with explained(self._place):
            try:
                return _state(await self._stream.stream_info(self._name))
            except NotFoundError:
                raise self._no_stream() from None

    async def read(self, start: int, patience_s: float) -> AsyncIterator[tuple[int, str, bytes]]:
        """Yield the sequence number, subject and content of each message from `start` on, forever.

        Raises PublishError: when no message comes for `patience_s`, and within seconds when the
        stream is deleted (`publish-no-stream`).
        """
        from nats.errors import TimeoutError as SilenceError  # noqa: PLC0415
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy  # noqa: PLC0415
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, start),
            # A relay tracks its own position: after a break it asks from its last number on.
            ack_policy=AckPolicy.NONE,
        )
        with explained(self._place):
            messages = await self._stream.subscribe(
                all_subjects(self._church),
                stream=self._name,
                config=config,
                manual_ack=True,
                pending_msgs_limit=_HELD,
                pending_bytes_limit=256 * 1024 * 1024,
            )
            counted, silent_s = 0, 0.0
            while True:
                try:
                    message = await messages.next_msg(timeout=min(_SILENCE_S, patience_s))
                except SilenceError:
                    silent_s += _SILENCE_S
                    if silent_s >= patience_s:
                        raise
                    try:
                        # The consumer is deleted with its stream, even if that was created again.
                        await messages.consumer_info()
                    except NotFoundError:
                        raise self._no_stream() from None
                    continue
                silent_s = 0.0
                sequence, counted = message.metadata.sequence, counted + 1
                if sequence.consumer != counted:  # a message was dropped: ask for it again
                    raise ConnectionError("messages are missing")
                yield sequence.stream, message.subject, message.data

    async def close(self) -> None:
        """Close the connection, broken or not."""
        await _close(self._client)

    async def _add(self, message: StreamMessage, known: Published) -> None:
        from nats.js.errors import APIError  # noqa: PLC0415

        old = known.newest.get(message.subject, 0)
        try:
            newest = await self._put(message, old)
        except APIError as error:
            if error.err_code != _OTHER_VERSION:
                raise
            # Our numbers are too old, or the last connection lost the ack of a version.
            await self._erase_subject(message.subject)
            newest = await self._put(message, 0)
        known.newest[message.subject] = newest
        if old:
            known.replaced.add(old)

    async def _put(self, message: StreamMessage, expected: int) -> int:
        """Add a message after the one with number `expected` (0: none); return its number."""
        from nats.js.api import Header  # noqa: PLC0415

        reply = await self._stream.publish(
            message.subject,
            message.data,
            timeout=_ANSWER_S,
            # The server refuses it if the subject belongs to another stream by now.
            stream=self._name,
            # It also refuses a version that comes after a newer one, perhaps a withdrawal.
            headers={Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(expected)},
        )
        return reply.seq

    async def _erase_subject(self, subject: str) -> None:
        """Overwrite every version of a subject in the stream."""
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        with suppress(NotFoundError):
            while (kept := await self._stream.get_last_msg(self._name, subject)).seq:
                await self._overwrite(kept.seq)

    async def _overwrite(self, number: int) -> None:
        """Overwrite a message on the server's disk; a missing one is no error."""
        from nats.js.errors import APIError, NotFoundError  # noqa: PLC0415

        try:
            await self._stream.delete_msg(self._name, number)
        except APIError:
            # The code is the same for a missing message and for one that cannot be written.
            with suppress(NotFoundError):
                await self._stream.get_msg(self._name, number)
                raise

    def _no_stream(self) -> PublishError:
        message = f"{self._place} has no stream of {self._church!r} yet."
        fix = "It is made when the church's daemon first publishes."
        return PublishError("publish-no-stream", message, fix)


def _state(info: StreamInfo) -> StreamState:
    # Only a server older than JetStream lacks this field.
    return StreamState(info.created or datetime.min.replace(tzinfo=UTC), info.state.last_seq)


def _credentials(settings: Publish) -> dict[str, Any]:
    """Return user and password, or a token, from their file. Raises PublishError."""
    if not settings.credentials:
        return {}
    file, fix = Path(settings.credentials), "It is a file with one line, user:password or a token."
    place = f"publish.credentials, {file},"
    with reading(place, PublishError, "publish-credentials", fix, (UnicodeDecodeError,)):
        first, _, password = file.read_text("utf-8").strip().partition(":")
    return {"user": first, "password": password} if password else {"token": first}


def _trust(settings: Publish) -> dict[str, Any]:
    """Return the TLS option with the settings' CA file; without one the default CAs are trusted.

    Raises PublishError.
    """
    if not settings.ca_file:
        return {}
    place, fix = f"publish.ca_file, {settings.ca_file},", "Give a file with certificates in PEM."
    with reading(place, PublishError, "publish-ca", fix):
        return {"tls": ssl.create_default_context(cafile=settings.ca_file)}


async def _close(client: Client) -> None:
    """Close a connection, broken or not."""
    with suppress(Exception):
        await asyncio.wait_for(client.close(), 1.0)


async def _quiet(_: Exception) -> None:
    """Ignore the client's report: the next call raises the same error."""


_FULL = (10023, 10047, 10054, 10077)
"""JetStream's codes for a reached limit of resources, storage, bytes or messages."""
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
"""Words in the client's error; our code for it, its meaning, and the fix."""


def place_of(url: str) -> str:
    """Return host and port of an address, for messages: without a password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or 4222}"


def explain(error: Exception, place: str) -> PublishError:
    """Return a client's error as a PublishError."""
    # By its number if it has one, else by its words.
    number = getattr(error, "err_code", None)
    text = f"{type(error).__name__} {error}"
    if number in _FULL:
        text = "insufficient"
    if isinstance(error, ssl.SSLError):
        text = "ssl"
    lowered = text.lower()
    for words, code, meaning, fix in _TROUBLES:
        if any(word in lowered for word in words):
            return PublishError(code, f"The NATS server {place} {meaning}.", fix)
    reason = str(error) or type(error).__name__
    return PublishError(
        "publish-unreachable",
        f"The NATS server {place} does not answer: {reason}.",
        "Captions in the hall go on; what is missing there follows.",
    )


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn any error of the block into a PublishError for the server at `place`."""
    try:
        yield
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled this task: the client cancelled its own waits when its connection broke.
        raise explain(ConnectionError("the connection broke"), place) from error
    except PublishError:
        raise
    except Exception as error:
        raise explain(error, place) from error
