from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect

from pipeline.publish.relay import Relay
from scripts.support.nats_server import NatsServer
from scripts.support.tcp_proxy import TcpProxy
from tests.support.hub import fetch, in_loop, receive, send
from tests.support.paths import ROOT
from tests.support.relays import church, delete_stream, needs_nats, reaches, relay, texts

pytestmark = pytest.mark.slow

SCALE = ROOT / "docs" / "SCALE.md"


def display(made: Relay, query: str = "") -> connect:
    return connect(made.address.replace("http", "ws") + f"ws?{query}", compression=None)


async def caption_of(page: ClientConnection) -> dict[str, object]:
    """Return the next caption that a display gets."""
    while (message := await receive(page))["type"] != "caption":
        continue
    return dict(message)


@in_loop
async def test_displays_of_a_relay_get_what_the_hall_gets(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall, relay(server.url) as edge:
            early = hall.say(1)
            await reaches(lambda: edge.feed.board.seq == 1)
            async with display(edge, "lang=es") as page:
                hello = await receive(page)
                assert (hello["session"], hello["state"]) == (hall.board.session, "listening")
                assert hello["captions"] == [orjson.loads(orjson.dumps(early))]
                late = hall.say(2, "paz")
                assert await caption_of(page) == orjson.loads(orjson.dumps(late))


@in_loop
async def test_a_display_goes_on_at_another_relay_where_it_was(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall, relay(server.url) as one, relay(server.url) as two:
            for key in range(10):
                hall.say(key)
            await reaches(lambda: one.feed.board.seq == two.feed.board.seq == 10)
            async with display(two, f"since=7&session={hall.board.session}") as page:
                hello = await receive(page)
    assert hello["resumed"]
    assert [each["seq"] for each in hello["captions"]] == [8, 9, 10]


@in_loop
async def test_a_relay_that_starts_late_has_the_whole_history(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall:
            for key in range(300):
                hall.say(key, f"texto {key}")
            hall.hide(299)
            await reaches(lambda: not hall.publisher.waiting)
            async with relay(server.url) as edge:
                await reaches(lambda: edge.feed.board.seq == hall.board.seq)
                assert texts(edge.feed.board) == texts(hall.board)


@in_loop
async def test_hide_edit_and_off_the_record_reach_every_relay(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall, relay(server.url) as one, relay(server.url) as two:
            for key in range(6):
                hall.say(key, f"texto {key}")
            async with display(one) as page:
                await receive(page)
                await reaches(lambda: one.feed.board.seq == 6)
                hall.hide(1)
                hall.edit(2, "mejor")
                hall.redact(4.0, 5.0)
                wanted = ["texto 0", "mejor", "texto 3", "texto 5"]
                await reaches(lambda: texts(one.feed.board) == texts(two.feed.board) == wanted)
                seen: dict[object, object] = {}
                while 4 not in seen or seen[4]:
                    message = await caption_of(page)
                    seen[message["id"]] = dict(message["target"])["text"]  # type: ignore[call-overload]
    assert (seen[1], seen[2], seen[4]) == ("", "mejor", "")


@in_loop
async def test_each_display_of_a_relay_gets_its_language(tmp_path: Path) -> None:
    needs_nats()
    targets = ("es", "fr", "de")
    with NatsServer(tmp_path) as server:
        async with church(server.url, targets=targets) as hall, relay(server.url) as edge:
            await reaches(lambda: edge.feed.board.session)
            async with (
                display(edge) as first,
                display(edge, "lang=fr") as french,
                display(edge, "prefer=de-CH,fr") as german,
                display(edge, "lang=en") as spoken,
            ):
                pages = (first, french, german, spoken)
                langs = [(await receive(page))["lang"] for page in pages]
                assert langs == ["es", "fr", "de", "en"]
                for lang in reversed(targets):  # the slowest language comes last
                    hall.say(1, f"amen {lang}", lang=lang)
                got = [(await caption_of(page))["target"] for page in pages]
                assert [each["text"] for each in got] == [  # type: ignore[index]
                    *("amen es", "amen fr", "amen de", "amen es")
                ]


@in_loop
async def test_off_the_record_holds_in_every_language(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url, targets=("es", "fr")) as hall, relay(server.url) as edge:
            for lang in ("es", "fr"):
                for key in range(3):
                    hall.say(key, f"secret-{lang}-{key}", lang=lang)
            await reaches(lambda: all(board.seq == 3 for board in edge.feed.boards.values()))
            hall.hide(0)
            hall.redact(1.0, 1.9)
            await reaches(lambda: all(board.seq == 5 for board in edge.feed.boards.values()))
            shown = {lang: texts(board) for lang, board in edge.feed.boards.items()}
            await reaches(lambda: not hall.publisher.waiting)
            stored = server.stored()
    assert shown == {"es": ["secret-es-2"], "fr": ["secret-fr-2"]}
    assert not [word for word in (b"es-0", b"es-1", b"fr-0", b"fr-1") if word in stored]
    assert b"secret-fr-2" in stored


@in_loop
async def test_a_new_service_takes_over_on_open_displays(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with relay(server.url) as edge:
            async with church(server.url, "first") as hall:
                hall.say(1, "ayer")
                await reaches(lambda: edge.feed.board.seq == 1)
            async with display(edge) as page:
                assert (await receive(page))["session"] == "first"
                async with church(server.url, "second") as hall:
                    hall.say(1, "hoy")
                    while (message := await receive(page))["type"] != "hello":
                        continue
                    assert (message["session"], message["resumed"]) == ("second", False)
                    assert "hoy" in (await caption_of(page))["target"]["text"]  # type: ignore[index]


@in_loop
async def test_a_relay_takes_no_operators(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with relay(server.url) as edge, display(edge, "kind=operator") as page:
            await receive(page)
            await send(page, type="command", name="pause")
            assert (await receive(page))["code"] == "not-authorized"


@in_loop
async def test_a_relay_is_healthy_whatever_the_church_does(tmp_path: Path) -> None:
    """A load balancer asks: with every relay out, nobody could read even that it is over."""
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall, relay(server.url) as edge:
            hall.publisher.offer_state("ended")
            await reaches(lambda: edge.feed.status and edge.feed.status.state == "ended")
            port = int(edge.address.rstrip("/").rpartition(":")[2])
            reply = await asyncio.to_thread(fetch, port, "/healthz", "GET", {})
    assert reply.status == 200
    assert orjson.loads(reply.body)["state"] == "ended"


@in_loop
async def test_a_server_that_restarts_costs_nothing(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall, relay(server.url) as edge:
            hall.say(1)
            await reaches(lambda: edge.feed.board.seq == 1)
            server.stop()
            for key in range(2, 6):
                hall.say(key)
            server.start()
            await reaches(lambda: edge.feed.board.seq == 5)
            assert texts(edge.feed.board) == texts(hall.board)


@in_loop
async def test_a_cut_line_is_caught_up_with(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with TcpProxy(server.port) as line:
            url = f"nats://127.0.0.1:{line.port}"
            async with church(url) as hall, relay(server.url) as edge:
                hall.say(1)
                await reaches(lambda: edge.feed.board.seq == 1)
                line.cut()
                for key in range(2, 30):
                    hall.say(key)
                await asyncio.sleep(6)  # more than the wait for an answer
                assert edge.feed.board.seq <= 2
                line.mend()
                await reaches(lambda: edge.feed.board.seq == 29)
                assert texts(edge.feed.board) == texts(hall.board)


@in_loop
async def test_a_relay_that_was_away_while_the_stream_was_made_anew_has_all_of_the_new_service(
    tmp_path: Path,
) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with TcpProxy(server.port) as line, relay(f"nats://127.0.0.1:{line.port}") as edge:
            async with church(server.url, "one") as hall:
                for key in range(3):
                    hall.say(key, f"ayer {key}")
                await reaches(lambda: edge.feed.board.seq == 3)
            line.cut()
            await delete_stream(server.url)
            async with church(server.url, "two") as hall:
                for key in range(8):  # more messages than the relay has read
                    hall.say(key, f"hoy {key}")
                await reaches(lambda: not hall.publisher.waiting)
                line.mend()
                await reaches(lambda: edge.feed.board.seq == 8)
                assert texts(edge.feed.board) == texts(hall.board)


@in_loop
async def test_a_stream_that_is_deleted_costs_old_and_new_relays_nothing(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path) as server:
        async with church(server.url) as hall, relay(server.url) as edge:
            for key in range(5):
                hall.say(key, f"texto {key}")
            await reaches(lambda: edge.feed.board.seq == 5)
            await delete_stream(server.url)
            hall.say(5, "texto 5")
            deleted_s = time.monotonic()
            async with relay(server.url) as late:
                await reaches(lambda: edge.feed.board.seq == late.feed.board.seq == 6)
                assert texts(edge.feed.board) == texts(late.feed.board) == texts(hall.board)
            took_s = time.monotonic() - deleted_s
    assert took_s < 15


@in_loop
async def test_with_the_permissions_of_our_example_a_relay_reads_and_changes_nothing(
    tmp_path: Path,
) -> None:
    needs_nats()
    from nats.aio.client import Client
    from nats.errors import Error
    from nats.js.api import ConsumerConfig

    example = re.search(r"authorization \{.*?\n +\] \}", SCALE.read_text("utf-8"), re.DOTALL)
    assert example
    secrets = {}
    for user in ("church", "relay"):
        secrets[user] = tmp_path / user
        secrets[user].write_text(f"{user}:…")
    with NatsServer(tmp_path, config=example[0]) as server:
        ours = {"credentials": str(secrets["church"]), "church": "st-paul"}
        theirs = {"publish.credentials": str(secrets["relay"]), "publish.church": "st-paul"}
        async with church(server.url, **ours) as hall, relay(server.url, **theirs) as edge:
            hall.say(1)
            await reaches(lambda: edge.feed.board.seq == 1)
            thief = Client()
            await thief.connect(server.url, user="relay", password="…")
            stream, name = thief.jetstream(timeout=0.5), "captions-st-paul"
            into_itself = ConsumerConfig(deliver_subject="captions.st-paul.status")
            for act in (
                lambda: stream.publish("captions.st-paul.status", b"{}"),
                lambda: stream.delete_msg(name, 1),
                lambda: stream.purge_stream(name),
                lambda: stream.delete_stream(name),
                lambda: stream.update_stream(name=name, subjects=["captions.>"], max_age=1),
                lambda: stream.add_consumer(name, into_itself),
            ):
                with pytest.raises(Error):
                    await act()
            await thief.close()
            hall.say(2)
            await reaches(lambda: edge.feed.board.seq == 2)
            # A relay that is silent for a while asks whether the stream is still there.
            await asyncio.sleep(6)
            hall.say(3)
            await reaches(lambda: edge.feed.board.seq == 3)
            assert not edge._told
