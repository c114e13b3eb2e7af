from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import AsyncMock

import orjson
import pytest

from pipeline.config.publishing import Publish
from pipeline.core.errors import PublishError
from pipeline.publish.broker import Broker, StreamState
from pipeline.publish.publisher import Backlog, Publisher
from pipeline.publish.stream import ServiceStatus, StreamMessage, status_out
from scripts.support.nats_server import NatsServer
from scripts.support.tcp_proxy import TcpProxy
from tests.support.hub import in_loop
from tests.support.patience import reached
from tests.support.relays import church, delete_stream, needs_nats


def stores(server: NatsServer, text: str) -> Callable[[], bool]:
    """Return whether the server's files have a text, as a condition to wait for."""
    return lambda: text.encode() in server.stored()


async def kept(url: str) -> dict[str, bytes]:
    """Return the messages of the stream by subject."""
    broker = await Broker.connect(Publish(nats=url))
    newest, found = (await broker.state()).newest, {}
    reading = broker.read(1, 2.0)
    async for number, subject, data in reading:
        found[subject] = data
        if number == newest:
            break
    await reading.aclose()  # type: ignore[attr-defined]
    await broker.close()
    return found


@pytest.mark.slow
@in_loop
async def test_the_stream_has_the_newest_of_each_caption_and_the_status_and_nothing_else(
    server: NatsServer,
) -> None:
    async with church(server.url, "first") as hall:
        hall.say(7, "gestern")
        await hall.arrives()
    async with church(server.url) as hall:  # it replaces the previous service
        for key in range(3):
            hall.say(key, "half", final=False)
            hall.say(key, f"whole {key}")
        hall.publisher.on_state("no-audio")
        hall.publisher.on_notice({"es": "A las diez."})
        await hall.arrives()
        found = {key: orjson.loads(data) for key, data in (await kept(server.url)).items()}
    assert found.pop("captions.church.status") == {
        "session": "2026-11-22T09-30-00",
        "mode": "live",
        "source": "en",
        "targets": ["es"],
        "state": "no-audio",
        "notice": {"es": "A las diez."},
    }
    assert {key: caption["target"]["text"] for key, caption in found.items()} == {
        f"captions.church.2026-11-22T09-30-00.es.{key}": f"whole {key}" for key in range(3)
    }


@pytest.mark.slow
@in_loop
async def test_what_is_taken_back_is_on_the_servers_disk_no_more(server: NatsServer) -> None:
    async with church(server.url) as hall:
        for key, word in enumerate(("eins", "zwei", "drei", "vier", "fünf"), 1):
            for length in (3, 2, 1):  # partials, each of them published
                half = f"vertraulich-{word}-{'x' * length}"
                hall.say(key, half, final=False)
                await reached(stores(server, half))
        hall.say(4, "bleibt-stehen")
        hall.say(3, "vertraulich-drei, ganz")
        hall.hide(1)
        hall.edit(2, "besser")
        hall.redact(2.5, 3.5)
        hall.say(5, "bleibt-auch")
        await reached(lambda: b"auch" in server.stored() and not hall.publisher.waiting)
        stored = server.stored()
    assert b"vertraulich" not in stored
    assert b"bleibt-stehen" in stored


@pytest.mark.slow
@in_loop
async def test_a_notice_that_is_replaced_or_cleared_is_on_the_servers_disk_no_more(
    server: NatsServer,
) -> None:
    async with church(server.url) as hall:
        for text in ("Beten wir für Anna.", "Beten wir für Otto."):
            hall.publisher.on_notice({"de": text})
            await hall.arrives()
            hall.publisher.on_state("speech")
        await reached(lambda: b"Otto" in server.stored() and not hall.publisher.waiting)
        assert b"Anna" not in server.stored()
        hall.publisher.on_notice({})
        await hall.arrives()
        stored = server.stored()
    assert b"Beten" not in stored


@pytest.mark.slow
@in_loop
async def test_what_is_taken_back_while_the_server_is_away_is_overwritten_when_it_is_back(
    server: NatsServer,
) -> None:
    """A broken connection also holds text back and delivers it when it is restored."""
    async with TcpProxy(server.port) as line, church(f"nats://127.0.0.1:{line.port}") as hall:
        hall.say(1, "vertraulich-eins")
        hall.publisher.on_notice({"de": "vertraulich-zwei"})
        await hall.arrives()
        line.cut()
        hall.say(2, "vertraulich-drei", final=False)  # in flight
        await reached(lambda: "publish-unreachable" in hall.codes)
        hall.hide(1)
        hall.redact(1.5, 3.0)
        hall.publisher.on_notice({})
        hall.say(3, "bleibt-stehen")
        server.stop()
        server.start()
        line.mend()
        await reached(lambda: b"bleibt" in server.stored() and not hall.publisher.waiting)
        stored, captions = server.stored(), await kept(server.url)
    assert b"vertraulich" not in stored
    assert len(captions) == 4


@pytest.mark.slow
@in_loop
async def test_words_that_a_broken_line_delivers_late_do_not_take_the_place_of_newer_ones(
    server: NatsServer,
) -> None:
    async with TcpProxy(server.port) as line, church(f"nats://127.0.0.1:{line.port}") as hall:
        hall.say(1, "steht")
        await hall.arrives()
        line.cut()
        hall.say(2, "vertraulich", final=False)
        await reached(lambda: "publish-unreachable" in hall.codes)
        hall.redact(1.5, 3.0)
        line.mend()
        await hall.arrives()
        stored, captions = server.stored(), await kept(server.url)
    assert b"vertraulich" not in stored
    assert (
        orjson.loads(captions["captions.church.2026-11-22T09-30-00.es.2"])["target"]["text"] == ""
    )


@pytest.mark.slow
@in_loop
async def test_a_stream_that_somebody_deletes_is_published_again(server: NatsServer) -> None:
    async with church(server.url) as hall:
        for key in range(10):
            hall.say(key, f"texto {key}")
        hall.hide(4)
        await hall.arrives()
        before = await kept(server.url)
        await delete_stream(server.url)
        hall.publisher.on_state("speech")
        await hall.arrives()
        after = await kept(server.url)
    status = before.pop("captions.church.status"), after.pop("captions.church.status")
    assert after == before
    assert [orjson.loads(each)["state"] for each in status] == ["listening", "speech"]


@pytest.mark.slow
@in_loop
async def test_a_server_that_comes_later_gets_everything(tmp_path: Path) -> None:
    needs_nats()
    server = NatsServer(tmp_path)
    async with church(server.url) as hall:
        for key in range(20):
            hall.say(key)
        await reached(lambda: "publish-unreachable" in hall.codes)
        assert hall.publisher.waiting == 21
        with server:
            await hall.arrives()
            assert len(await kept(server.url)) == 21
            await hall.close()
    assert hall.codes == ["publish-unreachable"]  # reported once, not with every try


@pytest.mark.slow
@in_loop
async def test_the_end_does_not_wait_for_a_server_that_is_gone(tmp_path: Path) -> None:
    needs_nats()
    server = NatsServer(tmp_path)  # never started
    async with church(server.url) as hall:
        hall.say(1)
        await reached(lambda: hall.codes)
        await hall.close()
        assert hall.publisher.waiting == 2


STATUS = ServiceStatus(session="one", mode="live", source="en", targets=("es",), state="speech")


@in_loop
async def test_a_line_that_breaks_after_a_good_while_is_tried_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publisher = Publisher(Publish(nats="nats://127.0.0.1:1"), STATUS)
    waits: list[float] = []
    broken = PublishError("publish-unreachable", "It does not answer.", "")

    class Line:
        """A connection that takes one message and breaks."""

        ensure_stream = AsyncMock(return_value=StreamState(datetime.now(UTC), 0))
        clear = publish = close = AsyncMock()
        erase = AsyncMock(side_effect=broken)

    async def wait(wait_s: float) -> None:
        waits.append(wait_s)
        publisher._is_closing = len(waits) == 7

    connect = AsyncMock(side_effect=[*[broken] * 5, Line(), broken])
    monkeypatch.setattr(Broker, "connect", connect)
    monkeypatch.setattr(publisher, "_sleep", wait)
    publisher._emit = lambda _: None
    monkeypatch.setattr("random.uniform", lambda *_: 1.0)
    publisher._offer_status()
    await publisher._serve()
    assert waits == [0.5, 1.0, 2.0, 5.0, 5.0, 0.5, 1.0]


def test_a_sign_of_life_does_not_bring_an_earlier_state_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two threads publish the status: the hall's, and the publisher's as a heartbeat."""
    publisher = Publisher(Publish(nats="nats://127.0.0.1:1"), STATUS)
    hall = threading.Thread(target=publisher.on_state, args=("blank",))

    def interrupted(church: str, status: ServiceStatus) -> StreamMessage:
        if threading.current_thread() is not hall:
            hall.start()
            hall.join(0.3)
        return status_out(church, status)

    monkeypatch.setattr("pipeline.publish.publisher.status_out", interrupted)
    publisher._offer_status()
    hall.join(5.0)
    waiting = publisher._backlog.first()
    assert waiting
    assert orjson.loads(waiting.data)["state"] == "blank"


def message(
    subject: int, revision: int = 1, *, final: bool = True, takes_back: bool = False
) -> StreamMessage:
    data = f"{subject},{revision}".encode()
    return StreamMessage(str(subject), data, takes_back=takes_back, is_final=final)


def drained(backlog: Backlog) -> list[str]:
    found = []
    while first := backlog.first():
        found.append(first.data.decode())
        backlog.done(first)
    return found


def test_messages_come_in_the_order_of_their_last_change() -> None:
    backlog = Backlog(10)
    for each in (message(1), message(2), message(1, 2), message(3)):
        backlog.put(each)
    assert drained(backlog) == ["2,1", "1,2", "3,1"]


def test_what_changes_while_it_is_sent_is_sent_again() -> None:
    backlog = Backlog(10)
    backlog.put(message(1))
    sending = backlog.first()
    assert sending
    assert backlog.first() is sending, "what has not arrived stays"
    backlog.put(message(1, 2))
    backlog.done(sending)
    assert drained(backlog) == ["1,2"]


def test_beyond_the_bound_partials_go_before_finals_and_the_oldest_first() -> None:
    backlog = Backlog(3)
    for each in (message(1), message(2, final=False), message(3), message(4), message(5)):
        backlog.put(each)
    assert drained(backlog) == ["3,1", "4,1", "5,1"]
    assert backlog.dropped == 2


def test_what_takes_text_back_is_never_given_up() -> None:
    backlog = Backlog(2)
    back = [message(1, 2, takes_back=True), message(2, 2, takes_back=True)]
    for each in (*back, message(3), message(4)):
        backlog.put(each)
    assert drained(backlog) == ["1,2", "2,2", "4,1"]


def test_for_another_stream_the_newest_of_each_subject_waits_again() -> None:
    backlog = Backlog(10)
    for each in (message(1), message(2), message(1, 2), message(3)):
        backlog.put(each)
    drained(backlog)
    backlog.put(message(2, 2))
    backlog.again()
    assert drained(backlog) == ["1,2", "3,1", "2,2"]


def test_what_takes_text_back_waits_again_although_many_came_after_it() -> None:
    backlog = Backlog(2)
    for each in (message(1, 2, takes_back=True), message(2), message(3)):
        backlog.put(each)
    backlog.again()
    assert drained(backlog) == ["1,2", "2,1", "3,1"]
