"""Captions as server-sent events: their format, and their delivery over real connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.captions.board import CaptionBoard
from pipeline.protocol.messages import NoticeMessage
from pipeline.server import hub
from pipeline.server.streams.event_stream import EventWriter, query_of
from scripts.support.records import caption
from tests.support.hub import Service, in_loop, receive, serving
from tests.support.needs import without
from tests.support.patience import reached

HELLO = b'{"type":"hello","protocol":1,"session":"one","seq":7}'


def test_a_message_becomes_an_event_with_the_place_to_go_on_from() -> None:
    writer = EventWriter()
    assert writer.event(HELLO) == b"retry: 2000\nid: one/7\ndata: " + HELLO + b"\n\n"
    caption = b'{"type":"caption","seq":8}'
    assert writer.event(caption) == b"id: one/8\ndata: " + caption + b"\n\n"


def test_what_is_no_caption_or_of_no_service_moves_no_place() -> None:
    writer = EventWriter()
    assert b"id:" not in writer.event(b'{"type":"hello","session":"","seq":0}')
    writer.event(HELLO)
    status = b'{"type":"status","seq":9}'
    assert writer.event(status) == b"data: " + status + b"\n\n"
    assert writer.event(b'{"type":"alive","seq":9}') == b": alive\n\n"


@pytest.mark.parametrize(
    ("path", "last", "query"),
    [
        ("/events", "", ""),
        ("/events?lang=es", "", "lang=es"),
        ("/events?since=1", "one+2/41", "session=one%2B2&since=41&since=1"),
        ("/events?lang=es", "nonsense", "lang=es"),
        ("/events?lang=es", "one/99999999999999999", "lang=es"),
    ],
)
def test_a_browser_goes_on_after_the_last_event_that_it_had(
    path: str, last: str, query: str
) -> None:
    headers = Headers({"Last-Event-ID": last} if last else {})
    assert query_of(Request(path, headers)) == query


class Reader:
    """A reader of an event stream that uses no library."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.head = b""
        self.ids: list[str] = []

    async def message(self) -> Any:
        """Return the next message; {} for a comment."""
        event = (await asyncio.wait_for(self.reader.readuntil(b"\n\n"), 20)).decode()
        fields = dict(line.split(": ", 1) for line in event.strip().split("\n"))
        if "id" in fields:
            self.ids.append(fields["id"])
        return orjson.loads(fields.get("data", "{}"))


@contextlib.asynccontextmanager
async def stream(service: Service, query: str = "", **headers: str) -> AsyncIterator[Reader]:
    reader = Reader(*await asyncio.open_connection("127.0.0.1", service.hub.port))
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    reader.writer.write(f"GET /events?{query} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode())
    try:
        reader.head = await asyncio.wait_for(reader.reader.readuntil(b"\r\n\r\n"), 20)
        yield reader
    finally:
        reader.writer.close()
        with contextlib.suppress(ConnectionError):
            await reader.writer.wait_closed()


@in_loop
async def test_a_stream_has_the_messages_of_a_socket() -> None:
    async with serving() as service, service.connect("lang=es") as page:
        service.say(1, "paz")
        async with stream(service, "lang=es") as reader:
            assert reader.head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"Content-Type: text/event-stream; charset=utf-8\r\n" in reader.head
            assert b"Access-Control-Allow-Origin: *\r\n" in reader.head
            assert b"X-Content-Type-Options: nosniff\r\n" in reader.head
            assert (await reader.message())["captions"][0]["target"]["text"] == "paz"
            service.say(2, "gracia")
            service.hub.set_state("speech")
            for kind in ("hello", "caption", "caption", "status"):
                message = await receive(page)
                assert message["type"] == kind
                if message["seq"] == 2:
                    assert await reader.message() == message
            assert reader.ids == ["session/1", "session/2"]
            # A reader counts as a viewer: a language without viewers pauses.
            assert service.hub.watchers()["es"] == 2
        await reached(lambda: service.hub.watchers()["es"] == 1)


@in_loop
async def test_a_stream_that_comes_back_gets_what_it_missed() -> None:
    async with serving() as service:
        for key in range(1, 5):
            service.say(key, f"texto {key}")
        async with stream(service, "since=1", Last_Event_ID="session/3") as reader:
            hello = await reader.message()
        assert (hello["resumed"], [each["seq"] for each in hello["captions"]]) == (True, [4])
        async with stream(service, Last_Event_ID="yesterday/3") as reader:
            hello = await reader.message()
        assert (hello["resumed"], len(hello["captions"])) == (False, 4)


@in_loop
async def test_each_stream_gets_its_language() -> None:
    async with serving() as service:
        french = CaptionBoard("session", "en", "fr", 10)
        service.hub.adopt((service.board, french), "live", state="speech", notice=NoticeMessage())
        async with stream(service, "lang=fr") as one, stream(service, "prefer=de,fr-CA") as two:
            for reader in (one, two):
                assert (await reader.message())["lang"] == "fr"
            service.say(1, "hola")
            message = french.show(caption(1, "hello", "bonjour", final=True, lang="fr"))
            assert message
            service.hub.publish(message, "fr")
            for reader in (one, two):
                assert (await reader.message())["target"]["text"] == "bonjour"


@in_loop
async def test_what_cannot_be_streamed_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "KEPT", 0)
    async with serving(max_clients=1) as service:
        reply = await service.get("/events?lang=xx")
        assert (reply.status, reply.body) == (400, b"'xx' is not shown: en, es are.\n")
        assert (await service.get("/events?since=-1")).status == 400
        assert (await service.get("/events", "POST")).status == 405
        head = await service.get("/events", "HEAD")
        assert (head.status, head.headers["content-type"][:17]) == (200, "text/event-stream")
        async with service.joined():
            full = await service.get("/events")
            assert (full.status, full.headers["retry-after"]) == (503, "10")


@in_loop
async def test_a_rehearsal_shows_streams_nothing() -> None:
    async with serving("dry-run") as service:
        service.say(1)
        async with stream(service) as reader:
            assert (await reader.message())["captions"] == []
            service.say(2)
            service.hub.set_state("speech")
            assert (await reader.message())["type"] == "status"


@in_loop
async def test_a_reader_that_does_not_read_is_cut_off_and_nobody_waits() -> None:
    async with serving() as service, service.joined() as page, stream(service) as reader:
        await reader.message()
        key = 0
        while service.hub.watchers()["es"] == 2:
            key += 1
            service.say(key, "amén " * 400)
            assert (await receive(page))["id"] == key
        assert service.sample("stark_slow_clients_total") == 1


@in_loop
async def test_the_end_of_the_service_ends_streams_at_once() -> None:
    async with serving() as service, stream(service) as reader:
        await reader.message()
        closing = asyncio.create_task(service.hub.close())
        # Neither a WebSocket close frame nor a reset, which ends a stream that closes too late.
        assert await asyncio.wait_for(reader.reader.read(), 20) == b""
        reader.writer.close()
        await closing


@in_loop
async def test_what_a_reader_sends_is_ignored() -> None:
    async with serving() as service, stream(service) as reader:
        await reader.message()
        reader.writer.write(b"\x81\x00GET / HTTP/1.1\r\n\r\n")
        await reader.writer.drain()
        service.say(1, "paz")
        assert (await reader.message())["target"]["text"] == "paz"


@in_loop
async def test_a_reader_whose_network_is_gone_is_let_go_of() -> None:
    """A stream has no pongs: the kernel drops a connection that acknowledges nothing."""
    async with serving(ping_s=7) as service, stream(service):
        await reached(lambda: service.hub.watchers()["es"] == 1)
        (client,) = service.hub._clients
        peer = client.connection.transport.get_extra_info("socket")
        if not hasattr(socket, "TCP_USER_TIMEOUT"):
            without("Linux only: TCP_USER_TIMEOUT")
        assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7000
