from __future__ import annotations

import asyncio

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pipeline.core.metrics import Metrics
from pipeline.core.types import Kind
from pipeline.server.clients import Client, Clients


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
