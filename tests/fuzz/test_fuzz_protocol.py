"""Network input (messages, queries, requests) is answered or refused; captions go on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from pipeline.core.errors import ProtocolError
from pipeline.core.types import COMMANDS
from pipeline.protocol.codec import encode, parse
from pipeline.protocol.commands import CommandMessage
from pipeline.server.boards import parse_subscription
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture, caption
from tests.support.hub import closed, in_loop, operator, receive, serving
from tests.support.material import FUZZ, TEXTS, VALUES, accepted, damaged

FEW = settings(FUZZ, max_examples=max(15, settings().max_examples // 50), deadline=60_000)
TYPES = st.sampled_from(["ack", "auth", "command", "caption", "hello"]) | VALUES
MESSAGES = st.fixed_dictionaries(
    {"type": TYPES},
    optional={
        "name": st.sampled_from(COMMANDS) | VALUES,
        "id": st.integers(0, 3) | VALUES,
        **dict.fromkeys(("text", "heard", "write", "seq", "token", "x"), TEXTS | VALUES),
    },
)
GOOD = [
    b'{"type":"command","name":"edit","id":1,"text":"am\\u00e9n"}',
    b'{"type":"command","name":"add-rule","heard":"row mans","write":"Romans"}',
    b'{"type":"auth","token":"secret"}',
    b'{"type":"ack","seq":1}',
]
COMMAND = st.builds(
    command,
    st.sampled_from([name for name in COMMANDS if name != "reload"]),
    st.integers(0, 4),
    st.text(min_size=1, max_size=20),
    heard=st.sampled_from(["row mans", "row", "romance 8"]),
    write=st.sampled_from(["Romans", "Row", "é"]),
)
QUERIES = st.lists(
    st.tuples(st.sampled_from(["lang", "kind", "since", "session", "history", "x", ""]), TEXTS),
    max_size=4,
).map(lambda pairs: "&".join(f"{key}={value}" for key, value in pairs))


def said(value: object) -> str | None:
    """Return a value as JSON, None where JSON cannot express it."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # a number beyond 64 bits
        return None


@FUZZ
@given(MESSAGES)
@example({"type": "command", "name": "edit", "id": True, "text": "x"})
@example({"type": "command", "name": []})
def test_any_message_is_one_of_ours_or_refused(message: dict[str, Any]) -> None:
    raw = said(message)
    if raw is not None:
        accepted(lambda: parse(raw))


@FUZZ
@given(st.sampled_from(GOOD).flatmap(damaged))
@example(b"[" * 16_000)
@example(b'{"type":"ack","seq":' + b"9" * 5_000 + b"}")
def test_a_damaged_message_is_one_of_ours_or_refused(raw: bytes) -> None:
    accepted(lambda: parse(raw.decode(errors="surrogateescape")))
    accepted(lambda: parse(raw.decode(errors="replace")))


@FUZZ
@given(QUERIES | st.text(max_size=60))
@example("since=" + "9" * 5_000)
@example("since=%00&lang=%ff")
@example("&" * 5_000)
def test_any_query_is_a_subscription_or_refused(query: str) -> None:
    wanted = accepted(lambda: parse_subscription(query, "en", ["es"]))
    if wanted is not None:
        assert wanted.lang in ("en", "es")
        assert wanted.since is None or wanted.since >= 0


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[list[CoordinatorFixture]]:
    made: list[CoordinatorFixture] = []
    yield made
    for each in made:
        each.recorder.close(5)


@pytest.mark.slow
@FEW
@given(commands=st.lists(COMMAND.filter(lambda each: each.name != "check"), max_size=12))
def test_any_commands_in_any_order_leave_a_desk_that_works(
    tmp_path: Path, desks: list[CoordinatorFixture], commands: list[CommandMessage]
) -> None:
    """All but "check", which runs in a thread: tests/unit/daemon/desk/test_live_check.py."""
    while desks:
        desks.pop().recorder.close(5)
    setting = CoordinatorFixture(tmp_path, church_words=True)
    desks.append(setting)
    coordinator = setting.coordinator
    setting.facts.has_begun = True
    for number in range(1, 4):
        coordinator.show(caption("gracia", final=number < 3, id=number))
    for each in commands:
        with contextlib.suppress(ProtocolError):
            setting.commands.obey(each)
        state, reason = setting.state
        assert state in ("listening", "paused", "blank")
        assert reason.startswith("off the record") == setting.facts.off_record
        encode(setting.commands.console())
    with contextlib.suppress(ProtocolError):
        setting.commands.obey(command("on-record"))
    setting.hearing.heard_s = 9.0
    coordinator.show(caption("amén", final=True, id=9))
    assert setting.board.seq > 0


@pytest.mark.slow
@FEW
@given(raws=st.lists(MESSAGES.map(said).filter(bool) | st.text(max_size=50), max_size=12))
def test_any_messages_over_a_socket_leave_the_others_their_captions(raws: list[str]) -> None:
    @in_loop
    async def talk() -> None:
        async with serving() as service, service.connect() as display:
            await receive(display)
            service.say(1)
            async with await operator(service) as coordinator:
                for raw in raws:
                    with contextlib.suppress(ConnectionClosed):
                        await coordinator.send(raw)
                service.say(2, "paz")
                while (await receive(display))["id"] != 2:
                    pass

    talk()


LINES = st.one_of(
    st.sampled_from([b"GET / HTTP/1.1", b"GET /ws HTTP/1.1", b"POST / HTTP/1.1", b"GET /ws?%ff H"]),
    st.builds(
        lambda verb, path: verb + b" /" + path + b" HTTP/1.1",
        st.sampled_from([b"GET", b"HEAD", b"PUT", b"get", b"\xff"]),
        st.binary(max_size=40),
    ),
    st.binary(max_size=60),
)
HEADERS = st.lists(
    st.sampled_from(
        [
            b"Host: x",
            b"Upgrade: websocket",
            b"Connection: Upgrade",
            b"Sec-WebSocket-Version: 13",
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            b"Content-Length: 99999999999",
            b"Transfer-Encoding: chunked",
            b"Origin: null",
            b"Origin: http://[",
            b"Host: [::1",
        ]
    )
    | st.binary(max_size=40),
    max_size=6,
)


@pytest.mark.slow
@FEW
@given(requests=st.lists(st.tuples(LINES, HEADERS), min_size=1, max_size=6))
def test_any_request_leaves_the_others_their_captions(
    requests: list[tuple[bytes, list[bytes]]],
) -> None:
    @in_loop
    async def ask() -> None:
        async with serving() as service, service.connect() as display:
            await receive(display)
            for line, headers in requests:
                reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
                writer.write(b"\r\n".join([line, *headers, b"", b""]))
                with contextlib.suppress(ConnectionError, TimeoutError):
                    await writer.drain()
                    writer.write_eof()
                    answer = await asyncio.wait_for(reader.read(64), 5)
                    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
                    assert not answer.startswith(b"HTTP/1.1 500")
                writer.close()
            service.say(1, "paz")
            assert (await receive(display))["id"] == 1

    ask()


@pytest.mark.slow
@FEW
@given(query=QUERIES)
def test_any_query_over_a_socket_gets_a_hello_or_a_reason(query: str) -> None:
    @in_loop
    async def subscribe() -> None:
        async with serving() as service:
            with contextlib.suppress(InvalidHandshake, ConnectionError):
                async with service.connect(quote(query, safe="=&")) as display:
                    first = await receive(display)
                    assert first["type"] in ("hello", "error")
                    if first["type"] == "error":
                        assert await closed(display) == 1008

    subscribe()
