"""Useless connections. Errors of connected displays are tested in tests/unit/server (test_hub.py,
test_inbound.py) and tests/unit/protocol/test_codec.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from scripts.support.program import SERMON, started
from tests.support.daemon import UPGRADE
from tests.support.hub import Service, closed, in_loop, receive, send, serving
from tests.support.patience import PATIENCE_S


async def ends(reader: asyncio.StreamReader) -> bytes:
    """Read until the server closes the connection in any way."""
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE_S)
    except ConnectionError:
        return b""


@pytest.mark.slow
@in_loop
async def test_half_open_and_slow_handshakes_are_cut_off_and_hold_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """100 clients send nothing, 100 stop in the middle, one sends byte by byte."""

    async def drip(service: Service) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
        for byte in UPGRADE[:-1]:
            if reader.at_eof():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(1.0)
        writer.close()
        return await ends(reader)

    monkeypatch.setattr("pipeline.server.transport._OPEN_S", 5.0)  # usually ten
    async with serving() as service:
        clock = asyncio.get_running_loop().time
        began_s = clock()
        dripping = asyncio.create_task(drip(service))
        idle = []
        for number in range(200):
            reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
            writer.write(UPGRADE[: 40 * (number % 2)])
            idle.append((reader, writer))
        async with service.connect() as display:
            assert (await receive(display))["type"] == "hello"
            service.say(1)
            assert (await receive(display))["type"] == "caption"
            assert (await service.get("/healthz")).status == 200
            for reader, writer in idle:
                assert b"101" not in await ends(reader)
                writer.close()
            assert b"101" not in await dripping
            # The client that sends byte by byte needs over two minutes for its handshake.
            assert clock() - began_s < PATIENCE_S
            service.say(2)
            while (message := await receive(display))["type"] == "alive":
                pass
            assert message["type"] == "caption"


@in_loop
async def test_a_megabyte_in_small_pieces_is_too_large_all_the_same() -> None:
    async with serving() as service, service.connect() as display:
        await receive(display)
        await display.send("x" * 1000 for _ in range(1000))
        assert await closed(display) == 1009
        async with service.connect() as other:
            assert (await receive(other))["type"] == "hello"


@in_loop
async def test_a_display_that_hangs_up_in_the_middle_of_a_message_is_forgotten() -> None:
    async with serving() as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
        writer.write(UPGRADE)
        assert b"101" in await reader.readline()
        writer.write(b"\x81\xfe")  # the start of a masked text frame, and then nothing
        writer.transport.abort()
        async with asyncio.timeout(PATIENCE_S):
            while len(service.hub._clients):
                await asyncio.sleep(0.01)


@pytest.mark.slow
def test_neither_too_few_descriptors_nor_a_full_hall_keep_captions_and_operators_out(
    tmp_path: Path,
) -> None:
    """The real program with 64 file descriptors and 100 idle connections. Then two addresses fill
    the hall, and three more open silent connections.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    many = (min(hard, 8192), hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, many)
    silent: list[socket.socket] = []
    try:
        small = {"STARK_TRANSLATE__SERVER__MAX_CLIENTS": "200"}  # the port accepts 700 connections
        with started("run", "--input", str(SERMON), cwd=tmp_path, **small) as program:
            program.wait_for("ready")
            resource.prlimit(program.process.pid, resource.RLIMIT_NOFILE, (64, hard))
            port = int(program.address.rpartition(":")[2])
            crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
            program.wait_for("nobody can join")
            before = len(program.journal())
            program.until(lambda: len(program.journal()) >= before + 2, what="caption")
            assert [line["event"] for line in program.log].count("nobody can join") == 1
            for each in crowd:
                each.close()

            async def joins() -> bool:
                async with connect(program.socket(), open_timeout=30) as display:
                    return bool(await display.recv())

            assert asyncio.run(joins())
            resource.prlimit(program.process.pid, resource.RLIMIT_NOFILE, many)
            token = (tmp_path / "sessions" / "operator-token").read_text().strip()
            asyncio.run(fill_the_hall(port, token, silent))
            assert program.stop() == 0
    finally:
        for each in silent:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def fill_the_hall(port: int, token: str, silent: list[socket.socket]) -> None:
    """Check that this machine and operators still get in; add the connections to `silent`."""
    tablet = await display(port, "127.0.0.9", token)
    await tablet.close()
    async with contextlib.AsyncExitStack() as crowd:
        for address in ("127.0.0.2", "127.0.0.3"):
            for _ in range(100):
                await crowd.enter_async_context(await display(port, address))
        for address in ("127.0.0.4", "127.0.0.5"):
            with pytest.raises(InvalidStatus):
                await display(port, address)
        for number in range(3 * 400):
            place, source = ("127.0.0.1", port), (f"127.0.0.{6 + number // 400}", 0)
            silent.append(socket.create_connection(place, 10, source))
        for address in ("127.0.0.1", "127.0.0.9"):
            operator = await display(port, address, token)
            assert await may_command(operator)
            await operator.close()
        # A client from any address also gets a page.
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=("127.0.0.5", 0)
        )
        writer.write(b"GET /address HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()


async def display(port: int, address: str, token: str = "") -> ClientConnection:
    """Connect from an address; with a token, as an operator."""
    place = f"ws://127.0.0.1:{port}/ws"
    made = await connect(place, local_addr=(address, 0), compression=None, max_queue=None)
    assert (await receive(made))["type"] == "hello"
    if token:
        await send(made, type="auth", token=token)
        while (await receive(made))["type"] != "authorized":
            pass
    return made


async def may_command(operator: ClientConnection) -> bool:
    """Return whether the server processes a command."""
    await send(operator, type="command", name="hide", id=999_999)
    while (message := await receive(operator))["type"] != "error":
        pass
    return bool(message["code"] == "unknown-caption")
