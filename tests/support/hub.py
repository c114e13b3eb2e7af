"""A real hub on a free port, and displays that connect to it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Server
from pipeline.core.errors import ProtocolError
from pipeline.core.metrics import Metrics
from pipeline.core.types import Mode
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import CommandMessage, EditCommand
from pipeline.server.hub import Hub
from pipeline.session.past_services import PastServices
from scripts.support.records import caption, health_record
from tests.support.patience import PATIENCE_S

TOKEN = "Wf3kq1c2v8ñ"


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test on its own event loop; a task that it leaves behind fails it."""

    @functools.wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        async def main() -> None:
            async with asyncio.timeout(60):
                await test(*args, **kwargs)
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main())

    return run


class Service:
    """A hub with the parts that the daemon gives it."""

    def __init__(self, mode: Mode = "live", sessions: Path | None = None, **server: Any) -> None:
        self.board = CaptionBoard("session", "en", "es", server.get("history", 200))
        self.metrics = Metrics()
        self.commands: list[CommandMessage] = []
        self.settings = Server(**{"port": 0, **server})
        self.hub = Hub(
            (self.board,),
            self.settings,
            mode=mode,
            token=TOKEN,
            metrics=self.metrics,
            past=PastServices(sessions, running=self.board.session) if sessions else None,
        )

    async def start(self) -> None:
        await self.hub.start(on_command=self.obey, health=health_record)

    def obey(self, command: CommandMessage) -> Awaitable[None] | None:
        if command.name == "resume":
            raise ProtocolError("not-paused", "Nothing is paused.")
        self.commands.append(command)
        if isinstance(command, EditCommand):
            message = self.board.edit(command.id, command.text)
            assert message
            self.hub.publish(message, "es")
        return None

    def say(self, key: int, text: str = "amén", *, final: bool = True) -> CaptionMessage:
        message = self.board.show(caption(key, text, text, final=final))
        assert message
        self.hub.publish(message, "es")
        return message

    def connect(self, query: str = "", **options: Any) -> Any:
        uri = f"ws://127.0.0.1:{self.hub.port}/ws?{query}"
        return connect(uri, compression=None, **options)

    @contextlib.asynccontextmanager
    async def joined(self, query: str = "", **options: Any) -> AsyncIterator[ClientConnection]:
        """Connect a display that has got its `hello`."""
        async with self.connect(query, **options) as display:
            await receive(display)
            yield display

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await asyncio.to_thread(fetch, self.hub.port, path, method, named)

    def sample(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


class Reply:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()


def fetch(port: int, path: str, method: str, headers: Mapping[str, str]) -> Reply:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as client:
        client.request(method, path, headers=dict(headers))
        return Reply(client.getresponse())


@contextlib.asynccontextmanager
async def serving(
    mode: Mode = "live", sessions: Path | None = None, **server: Any
) -> AsyncIterator[Service]:
    service = Service(mode, sessions, **server)
    await service.start()
    try:
        yield service
    finally:
        await service.hub.close()


async def receive(display: ClientConnection) -> Any:
    return orjson.loads(await asyncio.wait_for(display.recv(), PATIENCE_S))


async def send(display: ClientConnection, **message: object) -> None:
    await display.send(orjson.dumps(message).decode())


async def answer(display: ClientConnection, **message: object) -> Any:
    """Send a message and return the next one that comes."""
    await send(display, **message)
    return await receive(display)


async def silent(display: ClientConnection) -> bool:
    """Return whether no message is on its way: a pong overtakes no message."""
    await asyncio.wait_for(await display.ping(), PATIENCE_S)
    try:
        message = await asyncio.wait_for(display.recv(), 0.01)
    except TimeoutError:
        return True
    pytest.fail(f"got {message!r}")


async def closed(display: ClientConnection) -> int | None:
    """Read to the end and return the close code."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            await asyncio.wait_for(display.recv(), PATIENCE_S)
    return display.close_code


async def operator(service: Service) -> ClientConnection:
    display: ClientConnection = await service.connect("kind=operator")
    assert (await receive(display))["type"] == "hello"
    await send(display, type="auth", token=TOKEN)
    assert await receive(display) == {"type": "authorized"}
    assert (await receive(display))["type"] == "console"
    return display
