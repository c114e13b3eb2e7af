"""Messages from displays, over real sockets to a real hub."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import structlog
from websockets.asyncio.client import ClientConnection, connect

from pipeline.protocol.codec import MAX_BYTES
from pipeline.protocol.commands import CommandMessage
from pipeline.server import hub, inbound
from pipeline.server.access import LIMIT
from pipeline.server.volunteers import FILE, GUESSES, Volunteers
from tests.support.commands import command
from tests.support.hub import (
    TOKEN,
    Service,
    answer,
    closed,
    in_loop,
    operator,
    receive,
    send,
    serving,
    silent,
)
from tests.support.schemas import problems


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delay the answer to a wrong token by a fiftieth of the real second."""
    monkeypatch.setattr(inbound, "_WRONG_TOKEN_S", 0.02)


async def refused(display: ClientConnection, **message: object) -> str:
    """Send a message and return the code of the error that answers it."""
    return str((await answer(display, **message))["code"])


@in_loop
async def test_what_is_not_a_message_gets_an_error_and_the_captions_go_on() -> None:
    wrong: list[tuple[str | bytes, str]] = [
        ("amen", "bad-json"),
        (b'{"type":"ack","seq":1}', "binary-not-accepted"),
        ('{"type":"subscribe"}', "unknown-type"),
        ('{"type":"command","name":"reboot"}', "unknown-command"),
        ('{"type":"ack","seq":"1"}', "bad-field"),
        ('{"type":"command","name":"pause"}', "not-authorized"),
        ("x" * (MAX_BYTES + 1), "too-large"),
    ]
    async with serving() as service, service.joined() as display:
        for raw, code in wrong:
            await display.send(raw)
            message = await receive(display)
            assert (message["type"], message["code"]) == ("error", code)
        service.say(1)
        assert (await receive(display))["type"] == "caption"
        assert service.commands == []


@in_loop
async def test_a_megabyte_ends_the_connection_and_nobody_elses() -> None:
    async with serving() as service, service.connect() as display, service.joined() as other:
        await display.send("x" * 1_000_000)
        assert await closed(display) == 1009
        service.say(1)
        assert (await receive(other))["type"] == "caption"


@in_loop
async def test_twenty_errors_end_the_connection() -> None:
    async with serving() as service, service.joined() as display:
        for _ in range(20):
            await display.send("amen")
        codes = [(await receive(display))["code"] for _ in range(20)]
        assert codes == ["bad-json"] * 20
        assert await closed(display) == 1008


@in_loop
async def test_an_operators_refused_commands_end_no_connection() -> None:
    async with serving() as service:
        desk = await operator(service)
        for _ in range(25):
            assert (await answer(desk, type="command", name="resume"))["code"] == "not-paused"
        await desk.close()


# Operators


@in_loop
async def test_an_operator_with_the_token_may_command() -> None:
    async with serving() as service, service.joined() as display:
        service.say(1, "cordero")
        coordinator = await operator(service)
        await send(coordinator, type="command", name="pause")
        edited = await answer(
            coordinator, type="command", name="edit", id=1, text="Cordero de Dios"
        )
        assert edited["target"] == {"lang": "es", "text": "Cordero de Dios", "engine": "operator"}
        assert service.commands == [command("pause"), command("edit", 1, "Cordero de Dios")]
        assert (await receive(display))["seq"] == 1
        assert await receive(display) == edited
        assert await answer(coordinator, type="command", name="resume") == {
            "type": "error",
            "code": "not-paused",
            "message": "Nothing is paused.",
        }
        unknown: dict[str, Any] = {"name": "edit", "id": 9, "text": "x"}
        assert await refused(coordinator, type="command", **unknown) == "unknown-caption"
        await coordinator.close()


@in_loop
async def test_a_command_that_takes_its_time_holds_up_neither_its_operator_nor_the_end() -> None:
    started = asyncio.Event()
    given_up = asyncio.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.sleep(600)
        finally:
            given_up.set()

    class Slow(Service):
        def obey(self, command: CommandMessage) -> Awaitable[None] | None:
            return wait() if command.name == "reload" else super().obey(command)

    service = Slow()
    await service.start()
    coordinator = await operator(service)
    await send(coordinator, type="command", name="reload")
    assert await refused(coordinator, type="command", name="resume") == "not-paused"
    assert started.is_set()
    await asyncio.wait_for(service.hub.close(), 10)
    assert given_up.is_set()


@in_loop
async def test_a_wrong_token_is_answered_late_and_gives_nothing() -> None:
    async with serving() as service, service.joined() as display, service.joined() as other:
        clock = asyncio.get_running_loop().time
        asked_s = clock()
        await send(display, type="auth", token=TOKEN[:-1])
        service.say(1)  # the wait delays nobody, not even this display's captions
        for each in (other, display):
            assert (await receive(each))["type"] == "caption"
        message = await receive(display)
        assert (message["type"], message["code"]) == ("error", "not-authorized")
        assert clock() - asked_s >= inbound._WRONG_TOKEN_S * 0.9
        assert await refused(display, type="command", name="pause") == "not-authorized"
        assert service.commands == []


@in_loop
async def test_guessing_locks_the_address_out_and_no_other() -> None:
    async with serving() as service, service.joined(local_addr=("127.0.0.3", 0)) as display:
        for _ in range(LIMIT):
            assert await refused(display, type="auth", token="guess") == "not-authorized"
        assert await refused(display, type="auth", token=TOKEN) == "too-many-attempts"
        async with service.joined(local_addr=("127.0.0.2", 0)) as coordinator:
            assert (await answer(coordinator, type="auth", token=TOKEN))["type"] == "authorized"


@in_loop
async def test_guesses_from_the_address_of_an_operator_do_not_lock_the_operator_out() -> None:
    """Behind a proxy or a router all phones of a hall have one address."""
    proxy = ("127.0.0.3", 0)
    async with serving() as service, service.joined(local_addr=proxy) as phone:
        async with service.joined(local_addr=proxy) as tablet:
            assert (await answer(tablet, type="auth", token=TOKEN))["type"] == "authorized"
        for number in range(LIMIT + 4):
            await send(phone, type="auth", token="a guess that is long")
            code = "not-authorized" if number < LIMIT else "too-many-attempts"
            assert (await receive(phone))["code"] == code
        async with service.joined(local_addr=proxy) as tablet:
            assert (await answer(tablet, type="auth", token=TOKEN))["type"] == "authorized"


async def invited(service: Service) -> str:
    coordinator = await operator(service)
    invitation = await answer(coordinator, type="invite")
    await coordinator.close()
    assert problems("messages/invitation", invitation) == []
    return str(invitation["code"])


@in_loop
async def test_a_code_makes_a_device_an_operator_and_its_token_lets_it_in_again() -> None:
    async with serving() as service, service.joined() as display:
        paired = await answer(display, type="pair", code=await invited(service), name="Maria")
        assert (paired["type"], paired["name"]) == ("paired", "Maria")
        assert (await receive(display))["type"] == "authorized"
        assert (await receive(display))["volunteers"] == ["Maria"]
        await send(display, type="command", name="pause")
        async with service.joined() as again:
            assert (await answer(again, type="auth", token=paired["token"]))["type"] == "authorized"
        assert service.commands == [command("pause")]


@in_loop
async def test_a_revoked_volunteer_commands_no_more_but_reads_on() -> None:
    async with serving() as service, service.joined() as display:
        await send(display, type="pair", code=await invited(service), name="Maria")
        token = (await receive(display))["token"]
        for wanted in ("authorized", "console", "volunteers"):
            assert (await receive(display))["type"] == wanted
        coordinator = await operator(service)
        assert (await answer(coordinator, type="revoke", name="maria"))["names"] == []
        assert (await receive(display))["code"] == "signed-out"
        assert await refused(display, type="command", name="pause") == "not-authorized"
        await send(display, type="auth", token=token)
        service.say(1)
        assert (await receive(display))["type"] == "caption"
        assert (await receive(display))["code"] == "not-authorized"
        assert (await answer(coordinator, type="revoke", name="Maria"))["type"] == "caption"
        assert (await receive(coordinator))["code"] == "unknown-volunteer"
        assert service.commands == []
        await coordinator.close()


@pytest.mark.parametrize("noticed_by", ["button", "revoke"])
@in_loop
async def test_who_is_revoked_on_the_command_line_is_out_whoever_reads_the_list_first(
    noticed_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_HEALTH_S", 3600.0)  # the hub's own check never runs
    async with serving() as service, service.connect() as display:
        service.hub._volunteers._file = tmp_path / FILE
        await receive(display)
        await send(display, type="pair", code=await invited(service), name="Maria")
        for wanted in ("paired", "authorized", "console", "volunteers"):
            assert (await receive(display))["type"] == wanted
        coordinator = await operator(service)
        assert Volunteers(tmp_path).revoke("Maria") == 1
        if noticed_by == "button":
            reply = await service.get("/do", Authorization=f"Bearer {quote(TOKEN)}")
            assert reply.status == 200
        else:
            await send(coordinator, type="revoke", name="Maria")
        assert (await receive(display))["code"] == "signed-out"
        await coordinator.close()


@in_loop
async def test_a_list_that_cannot_be_read_is_logged_once_and_not_at_every_look(
    tmp_path: Path,
) -> None:
    async with serving() as service:
        service.hub._volunteers._file = tmp_path / FILE
        with structlog.testing.capture_logs() as logs:
            (tmp_path / FILE).write_text("{")
            for _ in range(3):
                service.hub._incoming.look()
            (tmp_path / FILE).write_text("[]")
            service.hub._incoming.look()
            (tmp_path / FILE).write_text("{ ")
            service.hub._incoming.look()
    assert [each["event"] for each in logs if each["log_level"] == "warning"] == ["volunteers"] * 2


@in_loop
async def test_codes_are_not_guessed() -> None:
    async with serving() as service, service.connect() as display:
        code = await invited(service)
        await receive(display)
        for guess in range(GUESSES):
            wrong = f"{(int(code) + guess + 1) % 10**6:06}"
            assert await refused(display, type="pair", code=wrong, name="Eve") == "wrong-code"
        assert await refused(display, type="pair", code=code, name="Eve") == "wrong-code"
        for _ in range(LIMIT - GUESSES - 1):
            await refused(display, type="pair", code="0", name="Eve")
        assert await refused(display, type="pair", code=code, name="Eve") == "too-many-attempts"


@in_loop
async def test_nobody_invites_or_revokes_without_being_let_in() -> None:
    async with serving() as service, service.joined() as display:
        for message in ({"type": "invite"}, {"type": "revoke", "name": "Maria"}):
            assert await refused(display, **message) == "not-authorized"
        async with service.joined(origin="https://evil.example") as foreign:
            code = await invited(service)
            assert await refused(foreign, type="pair", code=code, name="Eve") == "foreign-page"


@in_loop
async def test_a_page_of_another_site_makes_no_operator_but_may_read() -> None:
    async with serving() as service:
        service.say(1)
        own = f"http://127.0.0.1:{service.hub.port}"
        for origin, code in ((own, ""), ("https://evil.example", "foreign-page")):
            async with service.connect(origin=origin) as display:
                assert len((await receive(display))["captions"]) == 1
                assert (await answer(display, type="auth", token=TOKEN)).get("code", "") == code
        # A domain on the internet that its owner has pointed at this machine.
        there = ("127.0.0.1", service.hub.port)
        with socket.create_connection(there) as rebound:
            uri = f"ws://evil.example:{service.hub.port}/ws"
            async with connect(uri, sock=rebound, compression=None) as display:
                await receive(display)
                assert await refused(display, type="auth", token=TOKEN) == "foreign-page"
                assert await refused(display, type="command", name="pause") == "not-authorized"
        assert service.commands == []


@in_loop
async def test_two_hosts_are_none() -> None:
    async with serving() as service:
        two = {"Host": "127.0.0.1"}
        async with service.joined(additional_headers=two) as display:
            assert await refused(display, type="auth", token=TOKEN) == "foreign-page"


@in_loop
async def test_behind_a_proxy_the_configured_address_is_ours() -> None:
    outside: Any = "https://captions.example.org"
    async with serving(address=outside) as service, service.joined(origin=outside) as display:
        assert (await answer(display, type="auth", token=TOKEN))["type"] == "authorized"


@in_loop
async def test_a_token_is_in_no_log_and_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pipeline")
    with structlog.testing.capture_logs() as logs:
        async with serving() as service:
            for query in (f"token={TOKEN}", f"since={TOKEN}&session={TOKEN}"):
                async with service.connect(query) as display:
                    assert TOKEN not in await display.recv()
            for path in (f"/operator?token={TOKEN}", f"/{TOKEN}", f"/ws?token={TOKEN}"):
                assert TOKEN.encode() not in (await service.get(quote(path, safe="/?="))).body
            coordinator = await operator(service)
            await send(coordinator, type="command", name="pause")
            await send(coordinator, type="auth", token=TOKEN, name=7)
            await send(coordinator, type=TOKEN)
            await coordinator.close()
            assert TOKEN.encode() not in (await service.get("/metrics")).body
            assert TOKEN.encode() not in (await service.get("/healthz")).body
    assert TOKEN not in caplog.text + repr(logs)


# Acks


@in_loop
async def test_an_ack_measures_the_latency_at_the_glass_once() -> None:
    async with serving() as service:
        service.say(1)
        async with service.joined("kind=projector") as display:
            service.say(2)
            service.say(3)
            for seq in (1, 3, 3, 2, 99):  # from hello, painted, repeated, late, not published yet
                await send(display, type="ack", seq=seq)
            for _ in range(2):
                await receive(display)
            assert await silent(display)
        assert service.sample("stark_glass_seconds_count", kind="projector") == 1
        assert 0 < service.sample("stark_glass_seconds_sum", kind="projector") < 10
