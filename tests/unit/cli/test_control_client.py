"""Commands for the running daemon, over a real hub; and other programs at its port."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import control_client
from pipeline.cli.control_client import ask
from pipeline.config.loader import Changes
from pipeline.config.schema import Server
from pipeline.core.errors import ConfigError, ProtocolError, ServerError, StarkError, UsageError
from pipeline.protocol.commands import CommandMessage
from pipeline.server import hub, inbound
from tests.support.certificates import make
from tests.support.hub import TOKEN, Service, in_loop, serving

RELOAD = {"type": "command", "name": "reload"}


async def asked(service: Service, token: str = TOKEN, **settings: Any) -> dict[str, Any]:
    server = Server(port=service.hub.port, **settings)
    return await asyncio.to_thread(ask, server, token, RELOAD, "reloaded")


def obeying(service: Service, act: Callable[[], None]) -> None:
    def obey(command: CommandMessage) -> None:
        assert command.name == "reload"
        act()

    service.hub._incoming.on_command = obey


@in_loop
async def test_the_answer_is_found_among_all_that_an_operator_is_told() -> None:
    async with serving() as service:
        service.say(1)

        def act() -> None:
            service.hub.operators.level(-20.0, clipped=False)
            service.say(2)
            service.hub.operators.reloaded(Changes(("log.level",), (), ("stt.model",)), rules=7)

        obeying(service, act)
        answer = await asked(service)
    assert answer == {
        "type": "reloaded",
        "live": ["log.level"],
        "next_utterance": [],
        "restart": ["stt.model"],
        "rules": 7,
    }


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [("config-bad-value", ConfigError, 78), ("dictionary-unreadable", ServerError, 1)],
)
@in_loop
async def test_a_refusal_has_its_code(code: str, kind: type[StarkError], exit_code: int) -> None:
    async with serving() as service:

        def act() -> None:
            raise ProtocolError(code, "line one\nline two")

        obeying(service, act)
        with pytest.raises(kind, match="line one\nline two") as caught:
            await asked(service)
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)


@in_loop
async def test_another_token_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "_WRONG_TOKEN_S", 0.1)
    async with serving() as service:
        with pytest.raises(ServerError, match="--sessions") as caught:
            await asked(service, "wrong")
    assert caught.value.code == "not-authorized"


def tls(folder: Path, **kind: Any) -> dict[str, Any]:
    folder.mkdir()
    cert, key = make(folder, **kind)
    return {"tls_cert": str(cert), "tls_key": str(key)}


@pytest.mark.parametrize("days", [90, -3])
@in_loop
async def test_over_https_also_when_the_certificate_has_ended(tmp_path: Path, days: int) -> None:
    ours, other = tls(tmp_path / "ours", days=days), tls(tmp_path / "other")
    async with serving(**ours) as service:
        told = Changes((), (), ())
        obeying(service, lambda: service.hub.operators.reloaded(told, rules=7))
        assert (await asked(service, **ours))["rules"] == 7
        with pytest.raises(ServerError, match="another certificate"):
            await asked(service, **other)
        with pytest.raises(ServerError, match="SIGHUP") as caught:
            await asked(service)  # the settings say http
        assert caught.value.code == "daemon-unreachable"


@in_loop
async def test_settings_that_ask_for_https_do_not_reach_http(tmp_path: Path) -> None:
    async with serving() as service:
        with pytest.raises(ServerError, match="not stark-translate over https"):
            await asked(service, **tls(tmp_path / "ours"))


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    named = {"tls_cert": str(tmp_path / "none.pem"), "tls_key": "x"}
    with pytest.raises(ServerError, match=r"none\.pem") as caught:
        ask(Server(port=1, **named), "x", RELOAD, "reloaded")  # type: ignore[arg-type]
    assert caught.value.code == "tls-unreadable"


@in_loop
async def test_a_full_hall_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "KEPT", 0)  # no places are kept for this machine
    async with serving(max_clients=1) as service, service.connect() as display:
        await display.recv()
        with pytest.raises(ServerError, match="no room"):
            await asked(service)


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(ServerError, match="--port") as caught:
            ask(Server(port=taken.getsockname()[1]), "x", RELOAD, "reloaded")
    assert caught.value.code == "daemon-unreachable"


def test_a_port_that_is_picked_is_not_known() -> None:
    with pytest.raises(UsageError, match="--port"):
        ask(Server(port=0), "x", RELOAD, "reloaded")


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 404 Not Found\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"]
)
def test_another_program_at_the_port(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as aside:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(answer)
                connection.recv(4096)

        served = aside.submit(serve)
        with pytest.raises(ServerError, match="is not stark-translate"):
            ask(Server(port=listener.getsockname()[1]), "x", RELOAD, "reloaded")
        served.result(10)


@in_loop
async def test_a_daemon_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_client, "_ANSWER_S", 0.5)
    async with serving() as service:
        obeying(service, lambda: None)  # and sends no answer
        began_s = time.monotonic()
        with pytest.raises(ServerError, match="in time"):
            await asked(service)
        assert time.monotonic() - began_s < 10


@pytest.mark.parametrize(
    ("bound", "reached"),
    [
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("192.168.1.5", "192.168.1.5"),
        ("fd00::1", "[fd00::1]"),
    ],
)
def test_a_server_is_reached_by_what_it_is_bound_to(bound: str, reached: str) -> None:
    assert control_client._page(Server(host=bound)) == f"http://{reached}:8765/"
