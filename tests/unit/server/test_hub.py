"""The hub over real sockets."""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import AsyncExitStack

import orjson
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from pipeline.core.errors import ServerError
from pipeline.server import hub
from pipeline.server.clients import BACKLOG_BYTES
from pipeline.server.hub import KEPT
from pipeline.server.transport import Timers
from scripts.support.records import health_record
from tests.support.daemon import UPGRADE
from tests.support.hub import (
    TOKEN,
    Service,
    answer,
    closed,
    in_loop,
    operator,
    receive,
    serving,
    silent,
)
from tests.support.patience import reached

PHONE, TABLET = ("127.0.0.2", 0), ("127.0.0.3", 0)
"""Addresses of other devices; this machine is 127.0.0.1."""

# Captions


@in_loop
async def test_a_display_gets_captions_as_they_are_published() -> None:
    async with serving() as service, service.connect() as display:
        assert (await receive(display))["captions"] == []
        partial, final = service.say(1, "a", final=False), service.say(1, "a b")
        for message in (partial, final):
            assert await receive(display) == orjson.loads(orjson.dumps(message))


@in_loop
async def test_a_late_joiner_gets_what_is_on_the_board() -> None:
    async with serving() as service:
        service.say(1, "uno", final=False)
        service.say(1, "uno.")
        service.say(2, "dos", final=False)
        service.hub.set_state("speech", "")
        async with service.connect("lang=en&kind=projector") as display:
            hello = await receive(display)
        captions = hello.pop("captions")
        assert hello == {
            "type": "hello",
            "protocol": 1,
            "session": "session",
            "mode": "live",
            "seq": 3,
            "source": "en",
            "targets": ["es"],
            "lang": "en",
            "state": "speech",
            "reason": "",
            "resumed": False,
            "notice": {"type": "notice", "texts": {}},
            "acks": True,
        }
        assert [(c["id"], c["seq"], c["target"]["text"]) for c in captions] == [
            (1, 2, "uno."),
            (2, 3, "dos"),
        ]


@pytest.mark.slow
@in_loop
async def test_no_caption_falls_between_snapshot_and_live() -> None:
    """Twenty displays join while captions are published without a pause."""
    last = 300

    async def follow(service: Service, wait: int) -> None:
        await reached(lambda: service.board.seq >= wait)
        async with service.connect() as display:
            hello = await receive(display)
            has = {each["id"]: each["seq"] for each in hello["captions"]}
            seq = hello["seq"]
            while seq < last:
                message = await receive(display)
                if message["type"] == "alive":  # a busy machine takes long enough for one
                    continue
                seq += 1
                assert message["seq"] == seq
                has[message["id"]] = seq
        assert has == {m.id: m.seq for m in service.board.snapshot().messages}

    async with serving(history=1000) as service, asyncio.TaskGroup() as displays:
        for number in range(20):
            displays.create_task(follow(service, number * 12))
        for number in range(last):
            service.say(number // 3, str(number), final=number % 3 == 2)
            await asyncio.sleep(0.002)


@in_loop
async def test_a_slow_phone_gets_the_newest_captions_first() -> None:
    async with serving() as service:
        for key in range(4):
            service.say(key)
        async with service.connect("history=2") as display:
            hello, earlier = await receive(display), await receive(display)
            assert earlier["type"] == "earlier"
            for message, ids in ((hello, [2, 3]), (earlier, [0, 1])):
                assert [each["id"] for each in message["captions"]] == ids
            service.say(4)
            assert (await receive(display))["seq"] == hello["seq"] + 1 == 5
        async with service.connect("history=2&since=2") as back:
            resumed = await receive(back)
            assert resumed["resumed"]
            assert [each["id"] for each in resumed["captions"]] == [2, 3, 4]  # all it missed
            assert await silent(back)


@in_loop
async def test_every_display_gets_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_ALIVE_S", 0.1)
    async with serving("dry-run") as service, service.joined() as display:
        service.say(1)
        for _ in range(3):
            assert await receive(display) == {"type": "alive", "seq": 1}


@in_loop
async def test_states_reach_everyone_once() -> None:
    async with serving() as service, service.connect() as display:
        assert (await receive(display))["state"] == "starting"
        service.hub.set_state("starting", "")
        service.say(1)
        service.hub.set_state("no-audio", "microphone lost: USB")
        service.hub.set_state("no-audio", "microphone lost: USB")
        assert (await receive(display))["type"] == "caption"
        assert await receive(display) == {
            "type": "status",
            "mode": "live",
            "seq": 1,
            "state": "no-audio",
            "reason": "microphone lost: USB",
        }
        assert await silent(display)
        assert service.sample("stark_state", state="no-audio") == 1


# Displays that misbehave


@in_loop
async def test_a_wrong_subscription_is_told_and_closed() -> None:
    async with serving() as service, service.connect("lang=fr") as display:
        message = await receive(display)
        assert (message["type"], message["code"]) == ("error", "unknown-lang")
        assert await closed(display) == 1008
        assert service.sample("stark_client_errors_total", code="unknown-lang") == 1


@in_loop
async def test_a_full_hall_is_told_by_503_and_a_free_place_is_given_again() -> None:
    async with (
        serving(max_clients=2) as service,
        service.connect(local_addr=PHONE) as one,
        service.connect(local_addr=PHONE) as two,
    ):
        await receive(one)
        await receive(two)
        with pytest.raises(InvalidStatus) as refused:
            await service.connect(local_addr=PHONE)
        assert refused.value.response.status_code == 503
        assert refused.value.response.headers["Retry-After"] == "10"
        assert (await service.get("/")).status == 200
        await one.close()
        await reached(lambda: service.sample("stark_clients", kind="audience") == 1)
        async with service.connect(local_addr=PHONE) as three:
            assert (await receive(three))["type"] == "hello"


@in_loop
async def test_a_full_hall_has_places_for_this_machine_and_for_operators() -> None:
    async with serving(max_clients=2) as service:
        tablet = await service.connect("kind=operator", local_addr=TABLET)
        await receive(tablet)
        assert (await answer(tablet, type="auth", token=TOKEN))["type"] == "authorized"
        await tablet.close()
        await reached(lambda: not len(service.hub._clients))
        phones = [await service.connect(local_addr=PHONE) for _ in range(2)]
        for address in (PHONE, ("127.0.0.4", 0)):
            with pytest.raises(InvalidStatus):
                await service.connect(local_addr=address)
        here = [await service.connect() for _ in range(KEPT - 1)]
        here.append(await service.connect("kind=operator", local_addr=TABLET))
        for each in here:
            assert (await receive(each))["type"] == "hello"
        with pytest.raises(InvalidStatus):
            await service.connect()
        for each in (*phones, *here):
            await each.close()


def deaf(service: Service) -> socket.socket:
    """Open a display that reads nothing, not even the answer to its handshake."""
    display = socket.socket()
    display.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    display.connect(("127.0.0.1", service.hub.port))
    display.sendall(UPGRADE)
    return display


@pytest.mark.slow
@in_loop
async def test_displays_that_never_read_cost_the_others_nothing() -> None:
    """Of 40 displays 8 never read. Each of the others gets every caption in order."""
    count, text = 100, "x" * 3000
    got = [0] * 32

    async def follow(service: Service, number: int) -> None:
        async with service.connect() as display:
            assert (await receive(display))["seq"] == 0
            for seq in range(1, count + 1):
                # On a busy machine an `alive` message comes between two captions.
                while (message := await receive(display))["type"] == "alive":
                    pass
                assert message["seq"] == seq
                got[number] = seq

    async with serving() as service, AsyncExitStack() as closing:
        for _ in range(8):
            closing.enter_context(deaf(service))
        async with asyncio.TaskGroup() as displays:
            for number in range(32):
                displays.create_task(follow(service, number))
            await reached(lambda: service.sample("stark_clients", kind="audience") == 40)
            buffered = 0
            for key in range(count):
                service.say(key, f"{key} {text}")
                transports = (client.connection.transport for client in service.hub._clients)
                buffered = max(buffered, *(each.get_write_buffer_size() for each in transports))
                if key % 10 == 9:  # the deaf displays do not delay the others
                    await reached(lambda sent=key + 1: min(got) == sent)  # type: ignore[misc]
        assert got == [count] * 32
        assert service.sample("stark_slow_clients_total") == 8
        assert buffered <= BACKLOG_BYTES + 7000  # plus one message
        await reached(lambda: not len(service.hub._clients))


@pytest.mark.slow
@in_loop
async def test_a_display_that_does_not_answer_pings_is_gone() -> None:
    async with serving(ping_s=1) as service:
        display = deaf(service)
        await reached(lambda: len(service.hub._clients) == 1)
        await reached(lambda: len(service.hub._clients) == 0)
        display.close()
        assert service.sample("stark_clients", kind="audience") == 0


# Operators and dry-runs


@in_loop
async def test_a_dry_run_shows_captions_to_operators_only() -> None:
    async with serving("dry-run") as service, service.connect() as display:
        hello = await receive(display)
        assert (hello["mode"], hello["captions"]) == ("dry-run", [])
        service.say(1, "secreto")
        coordinator = await operator(service)
        again = await receive(coordinator)
        assert (again["type"], again["mode"], again["resumed"]) == ("hello", "dry-run", False)
        assert [each["target"]["text"] for each in again["captions"]] == ["secreto"]
        service.say(2, "secreto")
        assert (await receive(coordinator))["seq"] == 2
        service.hub.set_state("listening", "")
        status = await receive(display)
        assert (status["mode"], status["state"]) == ("dry-run", "listening")
        assert await silent(display)
        for query in ("since=0", "kind=operator", "since=1&session=session"):
            async with service.connect(query) as late:
                hello = await receive(late)
                assert (hello["captions"], hello["resumed"]) == ([], False)
        await coordinator.close()


# Pages, health, metrics


@in_loop
async def test_pages_come_from_the_same_port() -> None:
    async with serving() as service:
        page = await service.get("/")
        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert b"<html" in page.body
        assert (await service.get("/projector")).status == 200
        again = await service.get("/", If_None_Match=page.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        head = await service.get("/", "HEAD")
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(page.body))


@pytest.mark.parametrize(
    "start",
    [
        b"GET /../../../../etc/passwd HTTP/1.1",
        b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1",
        b"GET file:///etc/passwd HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
@in_loop
async def test_raw_requests_get_no_file_and_break_nothing(start: bytes) -> None:
    async with serving() as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
        writer.write(start + b"\r\nHost: x\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert not re.match(rb"HTTP/1.1 [1235]", answer)
        assert b"root:" not in answer
        assert b"[project]" not in answer
        async with service.connect() as display:
            assert (await receive(display))["type"] == "hello"


@in_loop
async def test_health_says_how_it_is() -> None:
    up = ("starting", "listening", "speech", "paused", "blank", "behind")
    expected = {**dict.fromkeys(up, 200), "no-audio": 503, "fault": 503, "ended": 503}
    async with serving() as service, service.joined("kind=obs"):
        service.say(1)
        for state, status in expected.items():
            service.hub.set_state(state, "because")  # type: ignore[arg-type]
            health = await service.get("/healthz")
            assert health.status == status
            assert health.headers["content-type"] == "application/json"
            body = orjson.loads(health.body)
            assert body.pop("protocol") == body.pop("seq") == 1
            clients = {"audience": 0, "projector": 0, "obs": 1, "operator": 0}
            assert body.pop("clients") == clients
            record = orjson.loads(orjson.dumps(health_record(state=state, reason="because")))
            assert body == {key: record[key] for key in record if key not in ("type", "utc")}


@in_loop
async def test_metrics_are_served() -> None:
    async with serving() as service, service.joined("kind=obs"):
        reply = await service.get("/metrics")
        assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert b'stark_clients{kind="obs"} 1.0\n' in reply.body


# Start and stop


@pytest.mark.slow
@in_loop
async def test_closing_says_goodbye_and_waits_for_nobody_long() -> None:
    service = Service()
    await service.start()
    clock = asyncio.get_running_loop().time
    async with service.joined() as display:
        idle = [deaf(service)]
        idle.append(socket.create_connection(("127.0.0.1", service.hub.port)))  # sends nothing
        await reached(lambda: len(service.hub._clients) == 2)
        started_s = clock()
        await service.hub.close()
        assert clock() - started_s < 5
        assert await closed(display) == 1001
    for connection in idle:
        connection.close()
    assert len(service.hub._clients) == 0
    await service.hub.close()


@in_loop
async def test_a_hub_that_never_started_can_be_closed() -> None:
    service = Service()
    await service.hub.close()
    with pytest.raises(ServerError, match="before it is started"):
        _ = service.hub.port


@in_loop
async def test_a_taken_port_is_said_so_and_a_closed_hub_frees_it() -> None:
    async with serving() as first:
        second = Service(port=first.hub.port)
        with pytest.raises(ServerError, match=str(first.hub.port)) as caught:
            await second.start()
        assert caught.value.code == "port-in-use"
        await second.hub.close()
    async with serving(port=second.settings.port) as third:
        assert third.hub.port == second.settings.port


@pytest.mark.parametrize("host", ["192.0.2.7", "no such host"])
@in_loop
async def test_an_address_that_is_not_ours_is_said_so(host: str) -> None:
    with pytest.raises(ServerError, match=host) as caught:
        await Service(host=host).start()
    assert caught.value.code == "address-unavailable"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", r"http://127\.0\.0\.1:\d+/"),
        ("localhost", r"http://(127\.0\.0\.1|\[::1\]):\d+/"),
        ("0.0.0.0", r"http://(?!0\.0\.0\.0)[\d.]+:\d+/"),
        ("::1", r"http://\[::1\]:\d+/"),
    ],
)
@in_loop
async def test_the_address_can_be_opened(host: str, address: str) -> None:
    if host == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    async with serving(host=host) as service:
        assert re.fullmatch(address, service.hub.address)
        name = re.sub(r"^http|/$", "", service.hub.address)
        async with connect(f"ws{name}/ws", compression=None) as display:
            assert (await receive(display))["type"] == "hello"


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@in_loop
async def test_a_function_that_fails_is_called_again_until_the_end() -> None:
    calls, errors, enough = [], [], asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: errors.append(what))

    def act() -> None:
        calls.append(1)
        if len(calls) == 3:
            timers.stop()
            enough.set()
        raise ValueError

    timers = Timers()
    timers.every(0.001, act)
    await enough.wait()
    await asyncio.sleep(0.02)
    assert (len(calls), len(errors)) == (3, 3)
