"""The sound streams over real sockets: their first bytes, who is admitted and who is cut off."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from pipeline.config import schema
from pipeline.server.hub import Hub
from pipeline.server.streams.voice_streams import VoiceStreams
from tests.support.hub import TOKEN, Service, in_loop
from tests.support.patience import PATIENCE_S, reached

Ask = Callable[..., Awaitable[tuple[asyncio.StreamReader, str]]]


@contextlib.asynccontextmanager
async def offering(*langs: str) -> AsyncIterator[tuple[VoiceStreams, Hub, Ask]]:
    """Serve these voices, to two listeners at most."""
    voices, service = VoiceStreams(langs, 2 * len(langs)), Service()
    service.hub = Hub(
        (service.board,),
        schema.Server(port=0),
        mode="live",
        token=TOKEN,
        metrics=service.metrics,
        voices=voices,
    )
    await service.start()
    voices.open()
    kept: list[asyncio.StreamWriter] = []

    async def ask(path: str, method: str = "GET") -> tuple[asyncio.StreamReader, str]:
        port = service.hub.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        kept.append(writer)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        return reader, head.decode()

    try:
        yield voices, service.hub, ask
    finally:
        for writer in kept:
            writer.close()
        await service.hub.close()


@in_loop
async def test_all_hear_the_same_and_who_joins_begins_with_what_is_said_now() -> None:
    async with offering("es") as (voices, hub, ask):
        first, head = await ask("/listen/es?at=1")
        assert "200 OK" in head
        assert "Content-Type: audio/mpeg" in head
        assert "Content-Length" not in head
        await reached(lambda: voices.heard() == ("es",))
        assert hub.watchers() == {"es": 1}
        steps = [bytes([number]) * 100 for number in range(10)]
        for step in steps:
            await asyncio.to_thread(voices.spread, "es", step)
        assert await first.readexactly(1000) == b"".join(steps)
        second, _ = await ask("/listen/es")
        assert await second.readexactly(400) == b"".join(steps[-4:])
        await reached(lambda: hub.watchers() == {"es": 2})


@in_loop
async def test_who_joins_does_not_hear_what_was_hidden_just_before() -> None:
    async with offering("es") as (voices, hub, ask):
        assert hub.watchers() == {}
        first, _ = await ask("/listen/es")
        await reached(lambda: voices.heard() == ("es",))
        for step in (b"secret", b"", b"silence"):
            voices.spread("es", step)
        assert await first.readexactly(13) == b"secretsilence"
        second, _ = await ask("/listen/es")
        assert await second.readexactly(7) == b"silence"


@in_loop
async def test_nobody_hears_what_was_said_before_the_last_listener_left() -> None:
    async with offering("es") as (voices, hub, ask):
        alone, _ = await ask("/listen/es")
        await reached(lambda: hub.watchers() == {"es": 1})
        voices.spread("es", b"an hour ago")
        assert await alone.readexactly(11) == b"an hour ago"
        next(iter(voices._listeners["es"])).transport.abort()
        await reached(lambda: hub.watchers() == {})
        await ask("/listen/es")
        await reached(lambda: hub.watchers() == {"es": 1})
        second, _ = await ask("/listen/es")
        await reached(lambda: hub.watchers() == {"es": 2})
        voices.spread("es", b"now")
        assert await second.readexactly(3) == b"now"


@in_loop
async def test_the_offer_the_limit_and_what_is_not_there() -> None:
    async with offering("es") as (voices, hub, ask):
        reader, _ = await ask("/listen")
        assert await reader.read() == b'{"langs":["es"]}'
        assert "404" in (await ask("/listen/fr"))[1]
        assert "404" in (await ask("/listen/../es"))[1]
        head = (await ask("/listen/es", "HEAD"))[1]
        assert "audio/mpeg" in head
        assert voices.heard() == ()
        for _ in range(2):
            await ask("/listen/es")
        await reached(lambda: hub.watchers() == {"es": 2})
        refusal = (await ask("/listen/es"))[1]
        assert "503" in refusal
        assert "Retry-After" in refusal


@in_loop
async def test_who_takes_nothing_is_cut_off_and_a_voice_that_is_gone_is_not_offered() -> None:
    async with offering("es") as (voices, _hub, ask):
        await ask("/listen/es")
        await reached(voices.heard)
        for _ in range(200):  # nobody reads
            voices.spread("es", bytes(100_000))
            await asyncio.sleep(0)
        await reached(lambda: voices.heard() == ())
        reader, _ = await ask("/listen/es")
        await reached(voices.heard)
        await asyncio.to_thread(voices.close)
        await reader.read()  # it has ended
        assert await (await ask("/listen"))[0].read() == b'{"langs":[]}'
        assert "404" in (await ask("/listen/es"))[1]


@pytest.mark.parametrize("path", ["/listen", "/listen/es"])
@in_loop
async def test_without_a_voice_none_is_offered(path: str) -> None:
    async with offering() as (_voices, _hub, ask):
        reader, head = await ask(path)
        assert ("404" in head) == (path == "/listen/es")
        await reader.read()
