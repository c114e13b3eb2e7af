"""The port over real sockets: limits, headers, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import resource
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pipeline.core.errors import ServerError
from pipeline.server import rate_limits, transport
from pipeline.server.clients import BACKLOG_BYTES
from pipeline.server.pages import SECURITY
from tests.support.certificates import NAME, make
from tests.support.daemon import UPGRADE
from tests.support.hub import TOKEN, Service, answer, closed, in_loop, receive, send, serving
from tests.support.patience import reached

# Limits


@in_loop
async def test_one_address_leaves_room_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "ANSWERED", 2)
    async with (
        serving(max_per_address=2) as service,
        service.connect() as one,
        service.connect() as two,
    ):
        await receive(one)
        await receive(two)
        with pytest.raises(InvalidStatus) as refused:
            await service.connect()
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["Retry-After"] == "10"
        assert b"server.max_per_address" in refused.value.response.body
        assert service.sample("stark_refused_total", code="too-many-connections") == 1
        idle = [socket.create_connection(("127.0.0.1", service.hub.port)) for _ in range(3)]
        assert await asyncio.to_thread(idle[2].recv, 100) in (b"", None)
        async with service.connect(local_addr=("127.0.0.2", 0)) as other:
            assert (await receive(other))["type"] == "hello"
            service.say(1)
            for display in (one, two, other):
                assert (await receive(display))["type"] == "caption"
        for each in idle:
            each.close()
        await two.close()
        await reached(lambda: service.hub._limiter.total == 1)
        async with service.connect() as again:
            assert (await receive(again))["type"] == "hello"


@in_loop
async def test_who_asks_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "REQUESTS_AT_ONCE", 3)
    monkeypatch.setattr(rate_limits, "REQUESTS_PER_S", 0.0)
    async with serving() as service:
        statuses = [(await service.get("/healthz")).status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        async with service.connect(local_addr=("127.0.0.2", 0)) as other:
            assert (await receive(other))["type"] == "hello"


@pytest.mark.slow
@in_loop
async def test_a_flood_of_messages_ends_with_1008_and_holds_up_nobody() -> None:
    async with serving() as service, service.joined() as good:
        for key in range(50):  # one `ack` per caption is no flood
            service.say(key)
            await send(good, type="ack", seq=(await receive(good))["seq"])
        async with service.joined() as bad:
            ack = orjson.dumps({"type": "ack", "seq": 0}).decode()
            flood = asyncio.create_task(_pour(bad, ack))
            assert await closed(bad) == 1008
            assert bad.close_reason == "too-many-messages"
            await flood
        errors = service.sample("stark_client_errors_total", code="too-many-messages")
        assert errors == 1
        service.say(50)
        assert (await receive(good))["type"] == "caption"


async def _pour(display: Any, message: str) -> None:
    with contextlib.suppress(ConnectionClosed):
        for _ in range(20_000):
            await display.send(message)


@in_loop
async def test_what_a_flood_brings_at_once_is_little() -> None:
    async with serving() as service:
        for each in service.hub._port._servers[0].sockets:  # the system doubles the size
            assert each.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) <= 16 * 1024
        async with service.joined():
            (client,) = service.hub._clients
            accepted = client.connection.transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) <= 16 * 1024
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 128 * 1024


@pytest.mark.slow
@in_loop
async def test_no_more_descriptors_is_told_once_and_over_when_somebody_leaves() -> None:
    """The event loop itself reports a hundred failed attempts every second."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with serving() as service, service.joined() as display:
        spare = [socket.socket() for _ in range(30)]
        waiting = socket.create_connection(("127.0.0.1", service.hub.port))
        await reached(lambda: service.hub._limiter.total == 2)
        highest = max(each.fileno() for each in [*spare, waiting])
        with capture_logs() as logs:
            resource.setrlimit(resource.RLIMIT_NOFILE, (spare[0].fileno(), hard))
            try:
                for each in spare:
                    each.setblocking(False)
                    with pytest.raises(BlockingIOError):
                        each.connect(("127.0.0.1", service.hub.port))
                await reached(lambda: bool(logs))
                await asyncio.sleep(1.2)
                service.say(1)
                assert (await receive(display))["type"] == "caption"
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert [line["code"] for line in logs] == ["descriptors-exhausted"]
        await reached(lambda: service.hub._limiter.total == 2 + len(spare))
        for each in [*spare, waiting]:
            each.close()
    assert highest < soft


@in_loop
async def test_who_breaks_off_before_the_answer_costs_one_quiet_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as service, service.joined() as display:
        with capture_logs() as logs:
            _, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
            # A request and right behind it a close frame: the library ends the connection at once.
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\x88\x80\0\0\0\0")
            await reached(lambda: bool(logs))
            writer.close()
        assert [(line["event"], line["log_level"]) for line in logs] == [
            ("gone before its answer", "debug")
        ]
        assert caplog.records == []
        service.say(1)
        assert (await receive(display))["type"] == "caption"


# Headers


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
        (b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
        (b"GET /ws HTTP/1.1\r\nHost: x\r\n\r\n", b"426"),
        (UPGRADE.replace(b"Version: 13", b"Version: 7"), b"400"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n", b"431"),
    ],
)
@in_loop
async def test_every_answer_has_the_security_headers(request_: bytes, status: bytes) -> None:
    async with serving() as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
        writer.write(request_)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        head = answer.partition(b"\r\n\r\n")[0].decode()
        assert head.startswith(f"HTTP/1.1 {status.decode()} ")
        for name, value in SECURITY.items():
            assert head.count(f"\r\n{name}: {value}") == 1
        assert "strict-transport-security" not in head.lower()  # plain http cannot keep it
        assert "\r\nserver:" not in head.lower()


# TLS


def trusting(cert: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=cert)


def fetch(port: int, cert: Path, path: str) -> http.client.HTTPResponse:
    client = http.client.HTTPSConnection("localhost", port, timeout=10, context=trusting(cert))
    client.request("GET", path)
    response = client.getresponse()
    response.read()
    return response


def tls(cert: Path, key: Path) -> dict[str, Any]:
    return {"tls_cert": str(cert), "tls_key": str(key)}


@in_loop
async def test_pages_and_socket_over_tls(tmp_path: Path) -> None:
    cert, key = make(tmp_path)
    async with serving(**tls(cert, key)) as service:
        port = service.hub.port
        assert service.hub.address == f"https://127.0.0.1:{port}/"
        page = await asyncio.to_thread(fetch, port, cert, "/")
        assert page.status == 200
        assert page.headers["Strict-Transport-Security"].startswith("max-age=")
        code = await asyncio.to_thread(fetch, port, cert, "/address")
        assert code.status == 200
        secure = f"wss://localhost:{port}/ws?kind=operator"
        origin: Any = f"https://localhost:{port}"
        async with connect(secure, ssl=trusting(cert), origin=origin) as display:
            await receive(display)
            assert (await answer(display, type="auth", token=TOKEN))["type"] == "authorized"
            service.say(1)
            assert (await receive(display))["type"] == "console"
            assert (await receive(display))["type"] == "caption"
            assert service.hub._limiter._inside == {"127.0.0.1": 1}
        await reached(lambda: service.hub._limiter.total == 0)
        assert service.hub._limiter._inside == {}


@in_loop
async def test_plain_http_on_the_tls_port_is_told_where_to_go(tmp_path: Path) -> None:
    cert, key = make(tmp_path)
    async with serving(**tls(cert, key), address=f"https://{NAME}:8765/") as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 10)
        assert answer.startswith(b"HTTP/1.1 200 ")  # this certificate is self-signed
        assert f'href="https://{NAME}:8765/"'.encode() in answer
        writer.close()
        await reached(lambda: service.hub._limiter.total == 0)
        assert (await asyncio.to_thread(fetch, service.hub.port, cert, "/healthz")).status == 200


@in_loop
async def test_a_deaf_display_is_cut_off_over_tls_as_well(tmp_path: Path) -> None:
    cert, key = make(tmp_path)
    async with serving(**tls(cert, key)) as service:
        plain = socket.create_connection(("127.0.0.1", service.hub.port))
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wrap = trusting(cert).wrap_socket
        deaf = await asyncio.to_thread(wrap, plain, server_hostname="localhost")
        deaf.sendall(UPGRADE)
        await reached(lambda: len(service.hub._clients) == 1)
        (client,) = service.hub._clients
        most = 0
        for key_ in range(200):
            service.say(key_, f"{key_} {'x' * 3000}")
            most = max(most, client.connection.transport.get_write_buffer_size())
            await asyncio.sleep(0)
        await reached(lambda: not len(service.hub._clients))
        assert service.sample("stark_slow_clients_total") == 1
        assert most <= BACKLOG_BYTES + 7000
        deaf.close()


@in_loop
async def test_a_renewed_certificate_is_taken_up_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_RENEW_S", 0.05)
    cert, key = make(tmp_path, days=5)
    async with serving(**tls(cert, key)) as service:
        port = service.hub.port

        def served() -> str:
            return ssl.get_server_certificate(("127.0.0.1", port))

        async with connect(f"wss://localhost:{port}/ws", ssl=trusting(cert)) as display:
            await receive(display)
            old = await asyncio.to_thread(served)
            make(tmp_path, days=90)
            deadline_s = time.monotonic() + 10
            while await asyncio.to_thread(served) == old:
                assert time.monotonic() < deadline_s
            service.say(1)  # connected displays stay
            assert (await receive(display))["type"] == "caption"
        assert (await asyncio.to_thread(fetch, port, cert, "/")).status == 200


@in_loop
async def test_a_connection_of_the_last_moment_is_closed_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_CLOSE_S", 0.1)
    loop = asyncio.get_running_loop()
    for ticks in range(5):  # how far the event loop is with the connection
        async with serving() as service:
            with socket.socket() as client:
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    client.connect(("127.0.0.1", service.hub.port))
                for _ in range(ticks):
                    await asyncio.sleep(0)
                await service.hub.close()
                with contextlib.suppress(ConnectionResetError):  # it was never accepted
                    assert not await asyncio.wait_for(loop.sock_recv(client, 1), 5)


@in_loop
async def test_a_certificate_that_cannot_be_read_ends_before_the_port_is_bound(
    tmp_path: Path,
) -> None:
    service = Service(**tls(tmp_path / "gone.pem", tmp_path / "gone.key"))
    with pytest.raises(ServerError, match=r"gone\.pem") as refused:
        await service.start()
    assert refused.value.code == "tls-unreadable"
    await service.hub.close()


ASK = """
import resource, sys
from pipeline.server.transport import allow
from tests.support.patience import reached
for case in sys.argv[1:]:
    soft, hard, wanted = map(int, case.split())
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(allow(wanted), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_as_many_as_needed_and_some_to_spare() -> None:
    # From case to case the hard limit never rises: only root could raise it.
    expected = {
        "256 4096 1500": "1500 1628 4096",  # raised as far as needed
        "2048 4096 1500": "1500 2048 4096",  # never lowered
        "256 1024 1500": "896 1024 1024",  # as far as this process is allowed to
        "128 128 1500": "64 128 128",  # half of a small limit
    }
    command = [sys.executable, "-c", ASK, *expected]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert dict(zip(expected, done.stdout.splitlines(), strict=True)) == expected
