"""Which connections are accepted and which are dropped, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.server import rate_limits
from pipeline.server import transport as descriptors
from tests.support.certificates import make
from tests.support.hub import Service, fetch, in_loop, receive, serving
from tests.support.patience import reached

PHONE = "127.0.0.2"
"""Another device: this machine is 127.0.0.1."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port for ten connections, and three more for this machine and operators."""
    monkeypatch.setattr(descriptors, "_REQUESTS_OPEN", 8)
    monkeypatch.setattr(descriptors, "_KEPT", 3)


def silent(port: int, address: str) -> socket.socket:
    """Connect from an address and send nothing."""
    return socket.create_connection(("127.0.0.1", port), 10, (address, 0))


@contextlib.contextmanager
def crowd(service: Service, number: int, address: str = PHONE) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        port = service.hub.port
        yield [stack.enter_context(silent(port, address)) for _ in range(number)]


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True


def asked_from(port: int, address: str) -> bytes:
    with silent(port, address) as connection:
        connection.sendall(b"GET /address HTTP/1.1\r\nHost: x\r\n\r\n")
        return connection.recv(12)


@pytest.mark.usefixtures("small")
@in_loop
async def test_who_asks_gets_an_answer_though_others_fill_the_port_and_say_nothing() -> None:
    async with serving(max_clients=2) as service, service.joined(local_addr=(PHONE, 0)) as display:
        with crowd(service, 30) as connections:
            await reached(lambda: not is_open(connections[20]))
            # The longest silent are dropped; the last nine and the display are left.
            left = [is_open(each) for each in connections]
            assert left == [False] * 21 + [True] * 9
            for address in (PHONE, "127.0.0.3", "127.0.0.1"):
                answer = await asyncio.to_thread(asked_from, service.hub.port, address)
                assert answer == b"HTTP/1.1 200"
            assert service.hub._limiter.total <= 10
            async with service.connect() as here, service.connect() as too:
                for each in (here, too):
                    assert (await receive(each))["type"] == "hello"
                answer = await asyncio.to_thread(asked_from, service.hub.port, PHONE)
                assert answer == b"HTTP/1.1 200", "places above the limit are taken as well"
            service.say(1)
            assert (await receive(display))["type"] == "caption"
        await reached(lambda: service.hub._limiter.total == 1)


@pytest.mark.usefixtures("small")
@in_loop
async def test_places_are_kept_for_this_machine_where_nobody_makes_room() -> None:
    async with serving(max_clients=100) as service:
        service.hub._limiter.most = 3
        phones = [await service.connect(local_addr=(PHONE, 0)) for _ in range(3)]
        with crowd(service, 1) as (outside,):
            await reached(lambda: not is_open(outside))
        here = [await service.connect() for _ in range(3)]
        with crowd(service, 1, "127.0.0.1") as (outside,):
            await reached(lambda: not is_open(outside))
        for each in (*phones, *here):
            assert (await receive(each))["type"] == "hello"
            await each.close()


@pytest.mark.usefixtures("small")
@in_loop
async def test_one_address_that_has_its_share_pushes_nobody_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_limits, "ANSWERED", 0)
    async with serving(max_clients=2, max_per_address=6) as service:
        with crowd(service, 4) as others, crowd(service, 30, "127.0.0.3") as greedy:
            await reached(lambda: not is_open(greedy[29]))
            assert [is_open(each) for each in others] == [True] * 4
            assert [is_open(each) for each in greedy] == [True] * 6 + [False] * 24


@pytest.mark.usefixtures("small")
@in_loop
async def test_with_tls_those_count_who_have_not_begun_with_it(tmp_path: Path) -> None:
    cert, key = make(tmp_path)
    async with serving(max_clients=2, tls_cert=str(cert), tls_key=str(key)) as service:
        with crowd(service, 30) as connections:
            await reached(lambda: not is_open(connections[19]))
            assert service.hub._limiter.total == 10
            port = service.hub.port
            there = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
            assert there == cert.read_text()[: len(there)]
        await reached(lambda: service.hub._limiter.total == 0)


@in_loop
async def test_this_machine_is_known_by_its_address_in_the_network_too() -> None:
    async with serving(host="127.0.0.9") as service:
        trusted = service.hub._incoming.trusted
        assert "127.0.0.9" not in trusted
        place, here = ("127.0.0.9", service.hub.port), ("127.0.0.9", 0)
        with socket.create_connection(place, 10, here):
            await reached(lambda: "127.0.0.9" in trusted)
        assert PHONE not in trusted


@in_loop
async def test_each_address_of_a_host_is_served() -> None:
    async with serving(host="localhost") as service:
        reply = await asyncio.to_thread(fetch, service.hub.port, "/address", "GET", {})
        assert reply.status == 200


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
@in_loop
async def test_all_addresses_means_those_of_ipv4_as_well() -> None:
    """With `::` the page's address is this machine's IPv4 address: phones must reach it."""
    async with serving(host="::") as service:
        assert (await service.get("/address")).status == 200
