"""The church's voice over plain HTTP: `GET /listen/LANG`, an endless MP3 (docs/PROTOCOL.md).

It is for an <audio> element, which plays on while the phone is locked. Each language is made once
for all its listeners; a new listener starts with the current speech.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from http import HTTPStatus

import orjson
import structlog
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from pipeline.server.pages import refuse, respond
from pipeline.server.streams.event_stream import EventStream

PATH = "/listen"
_TYPE = "audio/mpeg"
_BACKLOG_BYTES = 64 * 1024
"""Ten seconds: a listener that is further behind is cut off, and joins again at the live edge."""
_FIRST = 4
"""Pieces of sound that a new listener gets at once: a player starts only when it has some."""

log = structlog.get_logger()


class SoundStream(EventStream):
    """The head of an endless response; sound follows."""

    def __init__(self, lang: str) -> None:
        super().__init__(_TYPE)
        self.headers["Accept-Ranges"] = "none"
        self.lang = lang


class VoiceStreams:
    """The listeners by language. Belongs to the event loop's thread, except where noted."""

    def __init__(self, langs: Sequence[str], most: int) -> None:
        """`most` is the maximum number of listeners."""
        self._most = most
        self._is_closed = False
        self._listeners: dict[str, set[ServerConnection]] = {lang: set() for lang in langs}
        self._last: dict[str, deque[bytes]] = {lang: deque(maxlen=_FIRST) for lang in langs}
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Take sound from now on."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all streams: without a voice, pages offer the phone's voice. Any thread may call."""
        self._is_closed = True
        self._call(self._leave)

    def _leave(self) -> None:
        for listeners in self._listeners.values():
            for connection in listeners:
                connection.transport.close()

    def _call(self, act: Callable[..., None], *arguments: object) -> None:
        # Before `open` and after the end of the loop there are no listeners.
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act, *arguments)

    @property
    def langs(self) -> tuple[str, ...]:
        """The languages that can be heard now."""
        return () if self._is_closed else tuple(self._listeners)

    def heard(self) -> tuple[str, ...]:
        """Return the languages that have listeners. Any thread may call."""
        # The keys never change: another thread can iterate while listeners come and go.
        return tuple(lang for lang, listeners in self._listeners.items() if listeners)

    def watchers(self) -> Counter[str]:
        """Count the listeners by language: a language with listeners must not rest."""
        return Counter({lang: len(each) for lang, each in self._listeners.items() if each})

    def answer(self, request: Request) -> Response:
        """Answer a GET or HEAD request whose path is PATH or below it."""
        path = request.path.partition("?")[0]
        if path == PATH:
            body = orjson.dumps({"langs": self.langs})
            return respond(HTTPStatus.OK, body, "application/json")
        lang = path.removeprefix(f"{PATH}/")
        if lang not in self.langs:
            there = ", ".join(self.langs) or "none now"
            return refuse(HTTPStatus.NOT_FOUND, f"There is no voice for it; there are: {there}.")
        if sum(map(len, self._listeners.values())) >= self._most:
            later = {"Retry-After": "30"}
            return refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many listeners.", later)
        if request.method == "HEAD":  # nothing would ever end a stream
            return respond(HTTPStatus.OK, b"", _TYPE)
        return SoundStream(lang)

    async def serve(self, connection: ServerConnection, stream: SoundStream) -> None:
        """Let a connection hear a language until it leaves."""
        listeners, last = self._listeners[stream.lang], self._last[stream.lang]
        if not listeners:  # this sound is from before the last listener left
            last.clear()
        connection.transport.write(b"".join(last))
        listeners.add(connection)
        try:
            await connection.wait_closed()
        finally:
            listeners.discard(connection)

    def spread(self, lang: str, sound: bytes) -> None:
        """Send the next sound of a language to its listeners. Any thread may call.

        b"" means that the latest sound is hidden by now: new listeners must not get it.
        """
        self._call(self._spread, lang, sound)

    def _spread(self, lang: str, sound: bytes) -> None:
        if not sound:
            self._last[lang].clear()
            return
        self._last[lang].append(sound)
        for connection in tuple(self._listeners[lang]):
            transport = connection.transport
            if transport.is_closing():
                continue
            transport.write(sound)
            if transport.get_write_buffer_size() > _BACKLOG_BYTES:
                log.info("listener cut off", language=lang, reason="too slow")
                transport.abort()
