"""A connection to a church's stream in NATS JetStream, with errors in plain words.

One connection lives until something fails; who uses it makes another one then. So there is one way
to come back, after a moment or an hour, and nothing waits inside of a client library.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipeline.config.publishing import Publish
from pipeline.core.errors import PublishError
from pipeline.publish.stream import StreamMessage, all_subjects, stream_name

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

_CONNECT_S = 5
_ANSWER_S = 5.0
_PING_S = 5
_DUPLICATES_S = 120.0
_HELD = 200_000
"""Messages that may wait in the client: a stream of days is read faster than it is taken."""
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
        "has no JetStream, or is short of it",
        "Start it with --jetstream, and look at its log.",
    ),
    (
        ("certificate", "ssl", "tls", "secure"),
        "publish-tls",
        "cannot be reached over TLS",
        "Look at its certificate, and at tls:// in publish.nats.",
    ),
)
"""What is found in the client's words, then our code, what it means, and what helps."""


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
        `publish-not-installed`, `publish-unreachable`, `publish-credentials`."""
        try:
            from nats.aio.client import Client  # noqa: PLC0415 - an extra
        except ImportError:
            message = "publish.nats is set, but the library for it is not installed."
            fix = "Install `stark-translate[publish]`, or clear the setting."
            raise PublishError("publish-not-installed", message, fix) from None
        place = place_of(settings.nats)
        client = Client()
        with _explained(place):
            try:
                await asyncio.wait_for(
                    client.connect(
                        settings.nats,
                        **_credentials(settings),
                        name="stark-translate",
                        # Nothing waits inside the client: who uses this makes a new connection, and
                        # says so.
                        allow_reconnect=False,
                        max_reconnect_attempts=1,
                        connect_timeout=_CONNECT_S,
                        # A line that is cut says nothing by itself: pings without an answer tell.
                        ping_interval=_PING_S,
                        max_outstanding_pings=2,
                        error_cb=_quiet,
                    ),
                    2 * _CONNECT_S,
                )
            except BaseException:
                await _close(client)  # what failed half-way has a socket
                raise
        return cls(client, settings.church, place)

    async def ensure_stream(self, keep_hours: float) -> None:
        """Make the stream, or have its limits as they should be. Raises PublishError."""
        from nats.js.api import DiscardPolicy, StorageType, StreamConfig  # noqa: PLC0415
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        config = StreamConfig(
            name=self._name,
            subjects=[all_subjects(self._church)],
            max_age=keep_hours * 3600,
            max_msgs_per_subject=1,
            # When it is full the oldest captions go: new ones are what viewers wait for.
            discard=DiscardPolicy.OLD,
            storage=StorageType.FILE,
            # JetStream refuses a window that is longer than it keeps messages.
            duplicate_window=min(_DUPLICATES_S, keep_hours * 3600),
        )
        with _explained(self._place):
            try:
                await self._stream.stream_info(self._name)
            except NotFoundError:
                await self._stream.add_stream(config)
            else:
                await self._stream.update_stream(config)

    async def clear(self) -> None:
        """Take everything out of the stream. Raises PublishError."""
        with _explained(self._place):
            await self._stream.purge_stream(self._name)

    async def publish(self, message: StreamMessage) -> None:
        """Publish, and wait until the server has it on its disk. Raises PublishError."""
        with _explained(self._place):
            # The limit of one message a subject only unlinks the old one; its bytes would stay on
            # the disk.
            if message.erases:
                await self._erase(message.subject)
            await self._stream.publish(
                message.subject,
                message.data,
                timeout=_ANSWER_S,
                # The server refuses it if the subject has come to belong to another stream.
                stream=self._name,
                headers={"Nats-Msg-Id": message.id},
            )

    async def last_sequence(self) -> int:
        """Return the number of the stream's newest message, 0 before the first.

        Raises PublishError; `publish-no-stream` if nobody has published yet.
        """
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        with _explained(self._place):
            try:
                info = await self._stream.stream_info(self._name)
            except NotFoundError:
                message = f"{self._place} has no stream of {self._church!r} yet."
                fix = "It is made when the church's daemon first publishes."
                raise PublishError("publish-no-stream", message, fix) from None
        return info.state.last_seq

    async def read(self, start: int, patience_s: float) -> AsyncIterator[tuple[int, str, bytes]]:
        """Yield sequence, subject and content of each message from `start` on, for ever.

        Raises PublishError, also when nothing has come for `patience_s`.
        """
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy  # noqa: PLC0415

        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, start),
            # A relay keeps its place by itself: after a break it asks for what follows the last
            # number.
            ack_policy=AckPolicy.NONE,
        )
        with _explained(self._place):
            messages = await self._stream.subscribe(
                all_subjects(self._church),
                stream=self._name,
                config=config,
                manual_ack=True,
                pending_msgs_limit=_HELD,
                pending_bytes_limit=256 * 1024 * 1024,
            )
            counted = 0
            while True:
                message = await messages.next_msg(timeout=patience_s)
                sequence, counted = message.metadata.sequence, counted + 1
                if sequence.consumer != counted:  # one was dropped on the way: ask for it again
                    raise ConnectionError("messages are missing")
                yield sequence.stream, message.subject, message.data

    async def close(self) -> None:
        """Close the connection. Harmless when it is broken."""
        await _close(self._client)

    async def _erase(self, subject: str) -> None:
        """Overwrite the message that the stream has of a subject."""
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        try:
            kept = await self._stream.get_last_msg(self._name, subject)
            if kept.seq is not None:
                await self._stream.delete_msg(self._name, kept.seq)
        except NotFoundError:
            return


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
def _explained(place: str) -> Iterator[None]:
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


def _credentials(settings: Publish) -> dict[str, Any]:
    """Return user and password, or a token, out of their file. Raises PublishError."""
    if not settings.credentials:
        return {}
    file = Path(settings.credentials)
    try:
        first, _, password = file.read_text("utf-8").strip().partition(":")
    except (OSError, UnicodeDecodeError) as error:
        message = f"publish.credentials, {file}, cannot be read: {error}."
        fix = "It is a file with one line, user:password or a token."
        raise PublishError("publish-credentials", message, fix) from None
    return {"user": first, "password": password} if password else {"token": first}


async def _close(client: Client) -> None:
    """Close a connection, broken or not."""
    with suppress(Exception):
        await asyncio.wait_for(client.close(), 1.0)


async def _quiet(_: Exception) -> None:
    """Say nothing: what the client reports here, the next call raises."""
