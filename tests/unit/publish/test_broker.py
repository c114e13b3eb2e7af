from __future__ import annotations

import asyncio
import http.server
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.config.publishing import Publish
from pipeline.core.errors import PublishError
from pipeline.publish.broker import Broker, Published, StreamState
from pipeline.publish.stream import StreamMessage
from scripts.support.nats_server import NatsServer
from tests.support.certificates import make
from tests.support.hub import in_loop
from tests.support.patience import reached
from tests.support.programs import answering
from tests.support.relays import church, needs_nats, relay, texts

USERS = 'authorization { users = [ { user: church, password: "right" } ] }\n'


@pytest.fixture
def web_server() -> Iterator[int]:
    """A web server that answers everything with a page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    with answering(server):
        yield server.server_port


@pytest.mark.slow
@in_loop
async def test_a_wrong_password_is_told_as_such(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path, config=USERS) as server:
        wrong = tmp_path / "wrong"
        wrong.write_text("church:wrong\n")
        with pytest.raises(PublishError) as caught:
            await Broker.connect(Publish(nats=server.url, credentials=str(wrong)))
        assert caught.value.code == "publish-refused"
        right = tmp_path / "right"
        right.write_text("church:right\n")
        broker = await Broker.connect(Publish(nats=server.url, credentials=str(right)))
        await broker.ensure_stream(1)
        assert (await broker.state()).newest == 0
        await broker.close()


@pytest.mark.slow
@in_loop
async def test_captions_reach_a_relay_over_tls_that_an_own_authority_has_signed(
    tmp_path: Path,
) -> None:
    needs_nats()
    cert, key = make(tmp_path)
    tls = f'tls {{ cert_file: "{cert}", key_file: "{key}" }}'
    with NatsServer(tmp_path / "nats", config=tls) as server:
        url, own = server.url.replace("nats://", "tls://"), str(cert)
        async with church(url, ca_file=own) as hall, relay(url, **{"publish.ca_file": own}) as made:
            hall.say(1, "paz")
            await reached(lambda: texts(made.feed.board) == ["paz"])
        with pytest.raises(PublishError, match=r"publish\.ca_file") as caught:
            await Broker.connect(Publish(nats=url))
        assert caught.value.code == "publish-tls"
        for wrong in (tmp_path / "none", key):
            with pytest.raises(PublishError, match=wrong.name) as caught:
                await Broker.connect(Publish(nats=url, ca_file=str(wrong)))
            assert caught.value.code == "publish-ca"


@in_loop
async def test_credentials_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    needs_nats()
    settings = Publish(nats="nats://127.0.0.1:1", credentials=str(tmp_path / "none"))
    with pytest.raises(PublishError, match="none") as caught:
        await Broker.connect(settings)
    assert caught.value.code == "publish-credentials"


@pytest.mark.slow
@in_loop
async def test_a_web_server_is_no_nats_server(
    web_server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A web server waits for a request; only the missing NATS greeting reveals it."""
    needs_nats()
    monkeypatch.setattr("pipeline.publish.broker._CONNECT_S", 1)
    with pytest.raises(PublishError) as caught:
        await Broker.connect(Publish(nats=f"nats://127.0.0.1:{web_server}"))
    assert caught.value.code in ("publish-not-nats", "publish-unreachable")


@pytest.mark.slow
@in_loop
async def test_a_page_in_place_of_a_greeting_is_told_as_such() -> None:
    needs_nats()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(PublishError) as caught:
            await Broker.connect(Publish(nats=f"nats://127.0.0.1:{port}"))
    assert caught.value.code == "publish-not-nats"


def test_a_stream_made_anew_or_with_lost_messages_is_not_the_one_that_was_published_to() -> None:
    made = datetime(2026, 11, 23, tzinfo=UTC)
    known = Published(made, {"captions.church.status": 7})
    assert known.is_in(StreamState(made, 7))
    assert known.is_in(StreamState(made, 8))  # a message was in flight when the connection broke
    assert not known.is_in(StreamState(made, 6))
    assert not known.is_in(StreamState(made + timedelta(hours=1), 9))
    assert not Published().is_in(StreamState(made, 7))


@pytest.mark.slow
@in_loop
async def test_limits_of_a_stream_are_changed_in_place(server: NatsServer) -> None:
    broker = await Broker.connect(Publish(nats=server.url))
    made = await broker.ensure_stream(1)
    await broker.publish(StreamMessage("captions.church.s.es.1", b"{}"), Published())
    again = await broker.ensure_stream(2)
    assert (again.created, again.newest) == (made.created, 1)
    await broker.close()


@pytest.mark.slow
@in_loop
async def test_a_version_whose_acknowledgement_was_lost_is_overwritten_as_well(
    server: NatsServer,
) -> None:
    broker = await Broker.connect(Publish(nats=server.url))
    await broker.ensure_stream(1)
    known = Published()
    texts = (b"words-first", b"words-second", b"words-third")
    first, second, third = (StreamMessage("captions.church.s.es.1", text) for text in texts)
    await broker.publish(first, known)
    arrived = Published(newest=dict(known.newest))
    await broker.publish(second, arrived)
    await broker.publish(third, known)
    await broker.erase(known)
    stored = server.stored()
    await broker.close()
    assert [text in stored for text in texts] == [False, False, True]


@pytest.mark.slow
@in_loop
async def test_what_is_overwritten_already_is_no_trouble(server: NatsServer) -> None:
    broker = await Broker.connect(Publish(nats=server.url))
    await broker.ensure_stream(1)
    known = Published()
    for text in (b"one", b"two"):
        await broker.publish(StreamMessage("captions.church.s.es.1", text), known)
    known.replaced.add(99)
    for _ in range(2):
        await broker.erase(known)
        known.replaced.add(1)
    await broker.close()


@pytest.mark.slow
@in_loop
async def test_a_server_without_room_says_so(tmp_path: Path) -> None:
    """As on a full disk: JetStream may store less than it receives."""
    needs_nats()
    with NatsServer(tmp_path, config="max_payload: 64KB\n") as server:
        broker = await Broker.connect(Publish(nats=server.url))
        await broker.ensure_stream(1)
        await broker._stream.update_stream(
            name="captions-church",
            subjects=["captions.church.>"],
            max_bytes=10_000,
            max_msgs_per_subject=1,
            discard="new",
        )

        async def fill() -> None:
            for key in range(30):
                subject = f"captions.church.s.es.{key}"
                await broker.publish(StreamMessage(subject, b"x" * 1000), Published())

        with pytest.raises(PublishError) as caught:
            await fill()
        assert caught.value.code == "publish-full"
        await broker.close()
