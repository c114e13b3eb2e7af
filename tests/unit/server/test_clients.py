from __future__ import annotations

import asyncio
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pipeline.core.metrics import Metrics
from pipeline.core.types import Kind
from pipeline.protocol.messages import DisplayGroup, GlassTimes
from pipeline.server import clients as clients_module
from pipeline.server.clients import WINDOW_S, Client, Clients, DisplayLatency


def test_messages_go_to_those_given_and_who_lags_is_cut_off() -> None:
    """Three real connections: an operator, an audience, and one that may not lag at all."""

    async def main() -> None:
        metrics = Metrics()
        clients, joined = Clients(metrics), asyncio.Queue[Client]()

        async def handler(connection: ServerConnection) -> None:
            assert connection.request
            kind: Kind = "operator" if "operator" in connection.request.path else "audience"
            client = Client(connection, "es", kind, "es")
            clients.add(client)
            joined.put_nowait(client)
            await connection.wait_closed()
            clients.remove(client)

        def count(kind: str) -> float | None:
            return metrics.registry.get_sample_value("stark_clients", {"kind": kind})

        async with serve(handler, "127.0.0.1", 0, compression=None) as server:
            uri = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with (
                connect(f"{uri}/operator", compression=None) as coordinator,
                connect(f"{uri}/", compression=None) as display,
                connect(f"{uri}/", compression=None) as lagging,
            ):
                by_port = {}
                for _ in range(3):
                    client = await asyncio.wait_for(joined.get(), 10)
                    by_port[client.connection.remote_address[1]] = client
                operator, audience, slow = (
                    by_port[each.local_address[1]] for each in (coordinator, display, lagging)
                )
                assert clients.counts() == {
                    "audience": 2,
                    "projector": 0,
                    "obs": 0,
                    "operator": 1,
                }
                assert (count("audience"), count("operator")) == (2, 1)
                assert clients.watchers().total() == 3
                assert clients.authorized() == []
                operator.authorized = True
                assert clients.authorized() == [operator]

                clients.send(clients.authorized(), b"one")
                clients.send([operator, audience], b"two")
                assert [await coordinator.recv(), await coordinator.recv()] == ["one", "two"]
                assert await display.recv() == "two"

                slow.backlog = 0
                clients.send([audience, slow], b"x" * 20_000_000)  # more than sockets hold
                clients.send([slow], b"more")  # it is closing: neither an error nor counted twice
                assert metrics.registry.get_sample_value("stark_slow_clients_total") == 2
                closed = 0
                for each in (display, lagging):
                    try:
                        await asyncio.wait_for(each.recv(), 10)
                    except ConnectionClosed:
                        closed += 1
                assert closed == 2
                async with asyncio.timeout(10):
                    while len(clients) > 1:
                        await asyncio.sleep(0.01)
                assert list(clients) == [operator]
                assert (count("audience"), count("operator")) == (0, 1)

    asyncio.run(main())


class Peer:
    """As much of a connection as has a name."""

    remote_address = ("10.0.0.7", 1234)


def client(kind: Kind = "audience", lang: str = "es", number: int = 1) -> Client:
    connection: Any = Peer()
    return Client(connection, lang, kind, "es", number=number)


def painting(measured: DisplayLatency, display: Client, *took_ms: float) -> None:
    """Have a display paint captions one after the other, a second apart."""
    for number, each_ms in enumerate(took_ms, display.acked + 1):
        measured.published(number, float(number), "es")
        measured.painted(display, number, number + each_ms / 1000)


def test_an_ack_measures_once_and_only_what_was_published() -> None:
    measured, display = DisplayLatency(), client()
    for seq in (1, 2, 3):
        measured.published(seq, float(seq), "es")
    assert measured.painted(display, 2, 2.25) == 0.25
    assert measured.painted(display, 2, 2.5) is None
    assert measured.painted(display, 1, 2.5) is None
    assert measured.painted(display, 9, 2.5) is None
    assert display.acked == 2


def test_a_row_for_each_kind_and_language() -> None:
    measured = DisplayLatency()
    phone, other, wall = client(), client(number=2), client("projector", "en", 3)
    painting(measured, phone, *range(10, 210, 10))
    clients = [wall, phone, other]
    now_s = 21.0
    assert measured.displays(clients, now_s) == (
        DisplayGroup(kind="audience", lang="es", clients=2, glass_ms=GlassTimes(p50=100, p95=190)),
        DisplayGroup(kind="projector", lang="en", clients=1, glass_ms=None),
    )
    late = measured.displays(clients, now_s + WINDOW_S - 0.9)
    assert late[0].glass_ms == GlassTimes(p50=200, p95=200)
    assert measured.displays(clients, now_s + WINDOW_S)[0].glass_ms is None


def test_the_slowest_come_first_and_waiting_counts() -> None:
    measured = DisplayLatency()
    quick, slow, stuck, mute = (client(number=n) for n in (1, 2, 3, 4))
    painting(measured, quick, 10, 10, 10)
    painting(measured, slow, 500, 700, 600)
    painting(measured, stuck, 10)
    rows = measured.slowest([quick, slow, stuck, mute], {"es": 3}, 3.7)
    assert [(row.name, row.glass_ms, row.behind) for row in rows] == [
        ("3 (10.0.0.7)", 1700, 2),
        ("2 (10.0.0.7)", 600, 0),
        ("1 (10.0.0.7)", 10, 0),
    ]
    assert {(row.kind, row.lang) for row in rows} == {("audience", "es")}
    many = [client(number=n) for n in range(30)]
    for each in many:
        each.painted_s.append(each.number / 1000)
    assert [row.glass_ms for row in measured.slowest(many, {"es": 0}, 0.0)] == list(
        range(29, 19, -1)
    )


def test_memory_is_bounded() -> None:
    measured, display = DisplayLatency(), client()
    painting(measured, display, *([5.0] * (clients_module._TIMED + 100)))
    assert len(measured._published["es"]) == clients_module._TIMED
    assert next(iter(measured._published["es"])) == 101
    assert len(measured._measured["audience", "es"]) == clients_module._MEASURED
    assert len(display.painted_s) == 16
    forgotten = client()
    forgotten.painted_s.append(0.01)
    (row,) = measured.slowest(
        [forgotten], {"es": clients_module._TIMED + 100}, clients_module._TIMED + 101.0
    )
    assert row.glass_ms == clients_module._TIMED * 1000  # as far as is known
