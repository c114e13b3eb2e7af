from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Server
from pipeline.core.metrics import Metrics
from pipeline.core.types import State
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.relay import Feed, Relay
from pipeline.publish.stream import ServiceStatus, StreamCaption
from pipeline.server.hub import Hub
from scripts.support.nats_server import NatsServer
from scripts.support.records import caption
from scripts.support.tcp_proxy import TcpProxy
from tests.support.hub import fetch, in_loop, receive, send, serving, silent
from tests.support.paths import ROOT
from tests.support.patience import reached
from tests.support.relays import church, delete_stream, needs_nats, relay, texts

SCALE = ROOT / "docs" / "SCALE.md"


def display(made: Relay, query: str = "") -> connect:
    return connect(made.address.replace("http", "ws") + f"ws?{query}", compression=None)


async def caption_of(page: ClientConnection) -> dict[str, object]:
    """Return the next caption that a display gets."""
    while (message := await receive(page))["type"] != "caption":
        continue
    return dict(message)


@pytest.mark.slow
@in_loop
async def test_displays_of_a_relay_get_what_the_hall_gets_and_go_on_at_another_one(
    server: NatsServer,
) -> None:
    async with church(server.url) as hall, relay(server.url) as one, relay(server.url) as two:
        early = [hall.say(key) for key in range(9)]
        await reached(lambda: one.feed.board.seq == two.feed.board.seq == 9)
        async with display(one, "lang=es") as page:
            hello = await receive(page)
            assert (hello["session"], hello["state"]) == (hall.board.session, "listening")
            assert hello["captions"] == orjson.loads(orjson.dumps(early))
            late = hall.say(9, "paz")
            assert await caption_of(page) == orjson.loads(orjson.dumps(late))
        await reached(lambda: two.feed.board.seq == 10)
        async with display(two, f"since=7&session={hall.board.session}") as page:
            hello = await receive(page)
        assert hello["resumed"]
        assert [each["seq"] for each in hello["captions"]] == [8, 9, 10]
        # A load balancer asks this: without any relay no page could show that the session ended.
        hall.publisher.on_state("ended")
        await reached(lambda: one.feed.status and one.feed.status.state == "ended")
        port = int(one.address.rstrip("/").rpartition(":")[2])
        reply = await asyncio.to_thread(fetch, port, "/healthz", "GET", {})
    assert reply.status == 200
    assert orjson.loads(reply.body)["state"] == "ended"


@pytest.mark.slow
@in_loop
async def test_hide_edit_and_off_the_record_reach_every_relay_in_every_language(
    server: NatsServer,
) -> None:
    langs = ("es", "fr")
    async with (
        church(server.url, targets=langs) as hall,
        relay(server.url) as one,
        relay(server.url) as two,
    ):
        for key in range(4):
            for lang in langs:
                hall.say(key, f"secret-{lang}-{key}", lang=lang)

        def boards() -> list[CaptionBoard]:
            return [board for each in (one, two) for board in each.feed.boards.values()]

        await reached(lambda: [board.seq for board in boards()] == [4] * 4)
        async with display(one) as page:
            await receive(page)
            hall.hide(0)
            hall.redact(1.0, 1.9)
            hall.edit(2, "mejor")
            await reached(lambda: [board.seq for board in boards()] == [7, 6] * 2)
            seen = [dict(await caption_of(page)) for _ in range(3)]
        await hall.arrives()
        stored = server.stored()
    spanish, french = ["mejor", "secret-es-3"], ["secret-fr-2", "secret-fr-3"]
    assert [texts(board) for board in boards()] == [spanish, french] * 2
    assert {each["id"]: each["target"]["text"] for each in seen} == {0: "", 1: "", 2: "mejor"}  # type: ignore[index]
    gone = [f"secret-{lang}-{key}".encode() for lang in langs for key in (0, 1)]
    assert not [words for words in gone if words in stored]
    assert b"secret-fr-2" in stored


@pytest.mark.slow
@in_loop
async def test_a_relay_that_starts_late_has_the_whole_history(server: NatsServer) -> None:
    async with church(server.url) as hall:
        for key in range(60):
            hall.say(key, f"texto {key}")
        hall.hide(59)
        await hall.arrives()
        async with relay(server.url) as edge:
            await reached(lambda: edge.feed.board.seq == hall.board.seq)
            assert texts(edge.feed.board) == texts(hall.board)


@pytest.mark.slow
@in_loop
async def test_a_relay_takes_no_operators(server: NatsServer) -> None:
    async with relay(server.url) as edge, display(edge, "kind=operator") as page:
        await receive(page)
        await send(page, type="command", name="pause")
        assert (await receive(page))["code"] == "not-authorized"


@pytest.mark.slow
@in_loop
async def test_a_server_that_restarts_costs_nothing(server: NatsServer) -> None:
    async with church(server.url) as hall, relay(server.url) as edge:
        hall.say(1)
        await reached(lambda: edge.feed.board.seq == 1)
        server.stop()
        for key in range(2, 6):
            hall.say(key)
        server.start()
        await reached(lambda: edge.feed.board.seq == 5)
        assert texts(edge.feed.board) == texts(hall.board)


@pytest.mark.slow
@in_loop
async def test_a_cut_line_is_caught_up_with(server: NatsServer) -> None:
    async with TcpProxy(server.port) as line:
        url = f"nats://127.0.0.1:{line.port}"
        async with church(url) as hall, relay(server.url) as edge:
            hall.say(1)
            await reached(lambda: edge.feed.board.seq == 1)
            line.cut()
            for key in range(2, 30):
                hall.say(key)
            await reached(lambda: "publish-unreachable" in hall.codes)
            assert edge.feed.board.seq <= 2
            line.mend()
            await reached(lambda: edge.feed.board.seq == 29)
            assert texts(edge.feed.board) == texts(hall.board)


@pytest.mark.slow
@in_loop
async def test_a_relay_that_was_away_while_the_stream_was_made_anew_has_all_of_the_new_service(
    server: NatsServer,
) -> None:
    async with TcpProxy(server.port) as line, relay(f"nats://127.0.0.1:{line.port}") as edge:
        async with church(server.url, "one") as hall:
            for key in range(3):
                hall.say(key, f"ayer {key}")
            await reached(lambda: edge.feed.board.seq == 3)
        line.cut()
        await delete_stream(server.url)
        async with church(server.url, "two") as hall:
            for key in range(8):  # more messages than the relay has read
                hall.say(key, f"hoy {key}")
            await hall.arrives()
            line.mend()
            await reached(lambda: edge.feed.board.seq == 8)
            assert texts(edge.feed.board) == texts(hall.board)


@pytest.mark.slow
@in_loop
async def test_a_stream_that_is_deleted_costs_old_and_new_relays_nothing(
    server: NatsServer,
) -> None:
    async with church(server.url) as hall, relay(server.url) as edge:
        for key in range(5):
            hall.say(key, f"texto {key}")
        await reached(lambda: edge.feed.board.seq == 5)
        await delete_stream(server.url)
        hall.say(5, "texto 5")
        deleted_s = time.monotonic()
        async with relay(server.url) as late:
            await reached(lambda: edge.feed.board.seq == late.feed.board.seq == 6)
            assert texts(edge.feed.board) == texts(late.feed.board) == texts(hall.board)
        took_s = time.monotonic() - deleted_s
    assert took_s < 15


@pytest.mark.slow
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
            await reached(lambda: edge.feed.board.seq == 1)
            thief = Client()
            await thief.connect(server.url, user="relay", password="…")
            stream, name = thief.jetstream(timeout=0.5), "captions-st-paul"
            into_itself = ConsumerConfig(deliver_subject="captions.st-paul.status")
            # In parallel: the server answers none of them, so each runs into its timeout.
            refused = await asyncio.gather(
                stream.publish("captions.st-paul.status", b"{}"),
                stream.delete_msg(name, 1),
                stream.purge_stream(name),
                stream.delete_stream(name),
                stream.update_stream(name=name, subjects=["captions.>"], max_age=1),
                stream.add_consumer(name, into_itself),
                return_exceptions=True,
            )
            assert [isinstance(each, Error) for each in refused] == [True] * 6
            await thief.close()
            hall.say(2)
            await reached(lambda: edge.feed.board.seq == 2)
            # A relay that receives nothing for a second checks whether the stream still exists.
            await asyncio.sleep(1.5)
            hall.say(3)
            await reached(lambda: edge.feed.board.seq == 3)
            assert not edge._told


STATUS = ServiceStatus(session="one", mode="live", source="en", targets=("es",), state="speech")


@pytest.fixture
def feed() -> Feed:
    board = CaptionBoard("", "en", "es", 5)
    hub = Hub((board,), Server(port=0), mode="live", token="none", metrics=Metrics())
    return Feed(hub, board, 5)


def said(board: CaptionBoard, key: int, text: str, lang: str = "es") -> StreamCaption:
    message = board.show(caption(key, text, text, final=True, lang=lang))
    assert message
    return StreamCaption(board.session, lang, message)


def hall(session: str = "one") -> CaptionBoard:
    return CaptionBoard(session, "en", "es", 50)


def test_captions_before_the_status_are_shown_with_it(feed: Feed) -> None:
    """The stream has one status, the newest: a relay that starts late reads it last."""
    board = hall()
    for key in range(8):
        feed.take(said(board, key, str(key)))
    assert texts(feed.board) == []
    feed.take(STATUS)
    assert texts(feed.board) == ["3", "4", "5", "6", "7"]  # as many as the settings keep
    feed.take(said(board, 8, "8"))
    assert texts(feed.board)[-1] == "8"


def test_nothing_is_shown_twice_or_turned_back(feed: Feed) -> None:
    board = hall()
    first = said(board, 1, "uno")
    edited = board.edit(1, "eins")
    assert edited
    feed.take(STATUS)
    for message in (first.message, edited, first.message, edited):
        feed.take(StreamCaption("one", "es", message))
    assert texts(feed.board) == ["eins"]
    assert feed.board.seq == edited.seq


def test_captions_of_another_session_or_language_are_none_of_ours(feed: Feed) -> None:
    feed.take(STATUS)
    feed.take(said(hall("zero"), 1, "ayer"))
    feed.take(said(hall(), 1, "bonjour", lang="fr"))
    assert texts(feed.board) == []


def test_each_language_has_a_board_of_its_own(feed: Feed) -> None:
    """Each board counts its own `seq`, so a lower number must not be taken for an old message."""
    spanish, french = hall(), CaptionBoard("one", "en", "fr", 50)
    feed.take(said(french, 1, "un", lang="fr"))  # before the service is known
    feed.take(replace(STATUS, targets=("es", "fr")))
    for key in range(1, 4):
        feed.take(said(spanish, key, f"es {key}"))
    feed.take(said(french, 2, "deux", lang="fr"))
    assert {lang: texts(board) for lang, board in feed.boards.items()} == {
        "es": ["es 1", "es 2", "es 3"],
        "fr": ["un", "deux"],
    }


@in_loop
async def test_a_display_that_came_too_early_gets_its_language_when_it_is_known() -> None:
    """A refused page waits a minute, so a relay that just starts must not refuse it."""
    async with serving() as service:
        # The board of a relay before it knows a service.
        board = CaptionBoard("", "en", "es", 5)
        feed = Feed(service.hub, board, 5)
        service.hub.adopt((board,), "live", state="starting", notice=NoticeMessage())
        async with service.connect("lang=fr") as page, service.connect("prefer=fr-CA") as other:
            assert (await receive(page))["lang"] == "es"
            assert (await receive(other))["lang"] == "es"
            feed.take(replace(STATUS, targets=("es", "fr")))
            for each in (page, other):
                hello = await receive(each)
                assert (hello["lang"], hello["targets"]) == ("fr", ["es", "fr"])
            feed.take(said(hall(), 1, "uno"))
            feed.take(said(CaptionBoard("one", "en", "fr", 5), 1, "un", lang="fr"))
            assert (await receive(page))["target"]["text"] == "un"
        async with service.connect("lang=de") as page:
            assert (await receive(page))["code"] == "unknown-lang"  # now it is known
        assert orjson.loads((await service.get("/address")).body)["langs"] == ["es", "fr", "en"]


def test_a_session_whose_captions_came_first_takes_over_with_them(feed: Feed) -> None:
    feed.take(STATUS)
    feed.take(said(hall(), 1, "uno"))
    feed.take(said(hall("two"), 1, "dos"))
    assert texts(feed.board) == ["uno"]
    feed.take(replace(STATUS, session="two"))
    assert texts(feed.board) == ["dos"]


@in_loop
async def test_displays_are_told_state_notice_session_and_silence() -> None:
    async with serving() as service, service.connect() as page:
        feed = Feed(service.hub, service.board, 5)
        await receive(page)
        feed.take(replace(STATUS, notice={"es": "A las diez."}))
        assert (await receive(page))["session"] == "one"
        feed.take(STATUS)
        assert (await receive(page))["texts"] == {}
        feed.take(replace(STATUS, session="two"))
        assert (await receive(page))["session"] == "two"
        feed.lose()
        silence = await receive(page)
        assert (silence["state"], silence["type"]) == ("fault", "status")
        feed.take(said(hall("two"), 1, "uno"))
        assert (await receive(page))["state"] == "speech"
        message = await receive(page)
        assert message["target"]["text"] == "uno"


@in_loop
async def test_a_new_session_comes_with_its_own_state_and_notice() -> None:
    """A blank screen must not show captions between two messages."""
    async with serving() as service, service.connect() as page:
        feed = Feed(service.hub, service.board, 5)
        await receive(page)
        feed.take(replace(STATUS, notice={"es": "A las diez."}))
        hello = await receive(page)
        assert (hello["session"], hello["state"]) == ("one", "speech")
        assert hello["notice"]["texts"] == {"es": "A las diez."}
        feed.take(said(hall("two"), 1, "secreto"))
        feed.take(replace(STATUS, session="two", state="blank"))
        hello = await receive(page)
        assert (hello["session"], hello["state"]) == ("two", "blank")
        assert hello["notice"]["texts"] == {}
        assert await silent(page)


def test_a_dark_screen_stays_dark_when_nothing_comes_any_more(feed: Feed) -> None:
    states: list[str] = []
    shown: tuple[State, ...] = ("speech", "blank")
    for state in shown:
        feed.take(replace(STATUS, state=state))
        feed.lose()
        states.append(feed._hub._state)
        assert feed.state == states[-1]
    assert states == ["fault", "blank"]
