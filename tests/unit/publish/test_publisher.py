from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pipeline.config.publishing import Publish
from pipeline.publish.broker import Broker
from scripts.support.nats_server import NatsServer
from tests.support.hub import in_loop
from tests.support.relays import church, needs_nats, reaches

pytestmark = pytest.mark.slow


async def kept(url: str) -> dict[str, bytes]:
    """Return what the stream has, by subject."""
    broker = await Broker.connect(Publish(nats=url))
    newest, found = await broker.last_sequence(), {}
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
            hall.say(1, "vertraulich-eins")
            hall.say(2, "vertraulich-zwei")
            hall.say(3, "vertraulich-drei")
            hall.say(4, "bleibt-stehen")
            await reaches(lambda: not hall.publisher.waiting)
            assert b"vertraulich-eins" in server.stored()
            hall.hide(1)
            hall.edit(2, "besser")
            hall.redact(2.5, 3.5)
            await reaches(lambda: not hall.publisher.waiting)
            stored = server.stored()
    assert b"vertraulich" not in stored
    assert b"bleibt-stehen" in stored


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
