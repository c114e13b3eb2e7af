from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from pipeline.config.publishing import Publish
from pipeline.publish.broker import Broker
from scripts.support.nats_server import NatsServer
from scripts.support.tcp_proxy import TcpProxy
from tests.support.hub import in_loop
from tests.support.relays import church, delete_stream, needs_nats, reaches

pytestmark = pytest.mark.slow


def stores(server: NatsServer, text: str) -> Callable[[], bool]:
    """Return whether the server's files have a text, as a condition to wait for."""
    return lambda: text.encode() in server.stored()


async def kept(url: str) -> dict[str, bytes]:
    """Return what the stream has, by subject."""
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


@in_loop
async def test_the_stream_has_the_newest_version_of_each_caption(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall:
            for key in range(5):
                hall.say(key, "half", final=False)
                hall.say(key, f"whole {key}")
            await reaches(lambda: not hall.publisher.waiting)
            found = await kept(server.url)
            texts = [
                orjson.loads(data)["target"]["text"]
                for subject, data in found.items()
                if not subject.endswith(".status")
            ]
        assert texts == [f"whole {key}" for key in range(5)]


@in_loop
async def test_nothing_but_captions_state_and_notice_is_published(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall:
            hall.say(1)
            hall.publisher.offer_state("no-audio")
            hall.publisher.offer_notice({"es": "A las diez."})
            await reaches(lambda: not hall.publisher.waiting)
            found = await kept(server.url)
    assert {subject.rpartition(".")[2] for subject in found} == {"1", "status"}
    status = orjson.loads(found["captions.church.status"])
    assert status == {
        "session": "2026-11-22T09-30-00",
        "mode": "live",
        "source": "en",
        "targets": ["es"],
        "state": "no-audio",
        "notice": {"es": "A las diez."},
    }


@in_loop
async def test_what_is_taken_back_is_on_the_servers_disk_no_more(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall:
            for key, word in enumerate(("eins", "zwei", "drei", "vier", "fünf"), 1):
                for length in (3, 2, 1):  # partials, each of them published
                    half = f"vertraulich-{word}-{'x' * length}"
                    hall.say(key, half, final=False)
                    await reaches(stores(server, half))
            hall.say(4, "bleibt-stehen")
            hall.say(3, "vertraulich-drei, ganz")
            hall.hide(1)
            hall.edit(2, "besser")
            hall.redact(2.5, 3.5)
            hall.say(5, "bleibt-auch")
            await reaches(lambda: b"auch" in server.stored() and not hall.publisher.waiting)
            stored = server.stored()
    assert b"vertraulich" not in stored
    assert b"bleibt-stehen" in stored


@in_loop
async def test_a_notice_that_is_replaced_or_cleared_is_on_the_servers_disk_no_more(
    tmp_path: Path,
) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall:
            for text in ("Beten wir für Anna.", "Beten wir für Otto."):
                hall.publisher.offer_notice({"de": text})
                await reaches(lambda: not hall.publisher.waiting)
                hall.publisher.offer_state("speech")
            await reaches(lambda: b"Otto" in server.stored() and not hall.publisher.waiting)
            assert b"Anna" not in server.stored()
            hall.publisher.offer_notice({})
            await reaches(lambda: not hall.publisher.waiting)
            stored = server.stored()
    assert b"Beten" not in stored


@in_loop
async def test_what_is_taken_back_while_the_server_is_away_is_overwritten_when_it_is_back(
    tmp_path: Path,
) -> None:
    """A line that breaks holds words back, too, and delivers them when it is mended."""
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with TcpProxy(server.port) as line, church(f"nats://127.0.0.1:{line.port}") as hall:
            hall.say(1, "vertraulich-eins")
            hall.publisher.offer_notice({"de": "vertraulich-zwei"})
            await reaches(lambda: not hall.publisher.waiting)
            line.cut()
            hall.say(2, "vertraulich-drei", final=False)  # is on its way
            await reaches(lambda: "publish-unreachable" in hall.codes)
            hall.hide(1)
            hall.redact(1.5, 3.0)
            hall.publisher.offer_notice({})
            hall.say(3, "bleibt-stehen")
            server.stop()
            server.start()
            line.mend()
            await reaches(lambda: b"bleibt" in server.stored() and not hall.publisher.waiting)
            stored, captions = server.stored(), await kept(server.url)
    assert b"vertraulich" not in stored
    assert len(captions) == 4


@in_loop
async def test_words_that_a_broken_line_delivers_late_do_not_take_the_place_of_newer_ones(
    tmp_path: Path,
) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with TcpProxy(server.port) as line, church(f"nats://127.0.0.1:{line.port}") as hall:
            hall.say(1, "steht")
            await reaches(lambda: not hall.publisher.waiting)
            line.cut()
            hall.say(2, "vertraulich", final=False)
            await reaches(lambda: "publish-unreachable" in hall.codes)
            hall.redact(1.5, 3.0)
            line.mend()
            await reaches(lambda: not hall.publisher.waiting)
            stored, captions = server.stored(), await kept(server.url)
    assert b"vertraulich" not in stored
    assert (
        orjson.loads(captions["captions.church.2026-11-22T09-30-00.es.2"])["target"]["text"] == ""
    )


@in_loop
async def test_a_stream_that_somebody_deletes_is_published_again(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall:
            for key in range(10):
                hall.say(key, f"texto {key}")
            hall.hide(4)
            await reaches(lambda: not hall.publisher.waiting)
            before = await kept(server.url)
            await delete_stream(server.url)
            hall.publisher.offer_state("speech")
            await reaches(lambda: not hall.publisher.waiting)
            after = await kept(server.url)
    status = before.pop("captions.church.status"), after.pop("captions.church.status")
    assert after == before
    assert [orjson.loads(each)["state"] for each in status] == ["listening", "speech"]


@in_loop
async def test_a_service_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url, "first") as hall:
            hall.say(1, "gestern")
            await reaches(lambda: not hall.publisher.waiting)
        async with church(server.url, "second") as hall:
            hall.say(1, "heute")
            await reaches(lambda: not hall.publisher.waiting)
            assert set(await kept(server.url)) == {
                "captions.church.status",
                "captions.church.second.es.1",
            }


@in_loop
async def test_a_server_that_comes_later_gets_everything(tmp_path: Path) -> None:
    needs_nats()
    server = NatsServer(tmp_path)
    async with church(server.url) as hall:
        for key in range(20):
            hall.say(key)
        await reaches(lambda: "publish-unreachable" in hall.codes)
        assert hall.publisher.waiting == 21
        with server:
            await reaches(lambda: not hall.publisher.waiting)
            assert len(await kept(server.url)) == 21
            await hall.close()
    assert hall.codes == ["publish-unreachable"]  # told once, not with every try


@in_loop
async def test_the_end_does_not_wait_for_a_server_that_is_gone(tmp_path: Path) -> None:
    needs_nats()
    server = NatsServer(tmp_path)  # never started
    async with church(server.url) as hall:
        hall.say(1)
        await reaches(lambda: hall.codes)
        await hall.close()
        assert hall.publisher.waiting == 2
