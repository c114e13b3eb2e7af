"""A church that publishes, and relays that follow it, on a real nats-server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.config.loader import load
from pipeline.config.publishing import Publish
from pipeline.core.reports import Report
from pipeline.protocol.caption import CaptionMessage
from pipeline.publish.publisher import Publisher
from pipeline.publish.relay import Relay
from pipeline.publish.stream import ServiceStatus, stream_name
from scripts.support.nats_server import installed
from scripts.support.records import caption
from tests.support.needs import needs_module, without
from tests.support.patience import reached


def needs_nats() -> None:
    """Skip the test without the NATS server and client."""
    needs_module("nats")
    if installed() is None:
        without("not installed: nats-server")


class Church:
    """Boards that publish captions as the daemon does; one for each target language."""

    def __init__(
        self,
        url: str,
        session: str = "2026-11-22T09-30-00",
        targets: tuple[str, ...] = ("es",),
        **settings: Any,
    ) -> None:
        self.boards = {lang: CaptionBoard(session, "en", lang, 200) for lang in targets}
        self.board = self.boards[targets[0]]
        self.reports: list[Report] = []
        status = ServiceStatus(
            session=session, mode="live", source="en", targets=targets, state="listening"
        )
        self.publisher = Publisher(Publish(nats=url, **settings), status)

    def start(self) -> None:
        self.publisher.start(self.reports.append)

    def say(
        self, key: int, text: str = "amén", *, final: bool = True, lang: str = ""
    ) -> CaptionMessage:
        board = self.boards[lang or self.board.target]
        said = f"said {text}"
        message = board.show(
            caption(key, said, text, final=final, start_s=key, end_s=key + 0.9, lang=board.target)
        )
        assert message
        self.publisher.on_caption(message, board.target)
        return message

    def hide(self, key: int) -> None:
        """Hide a caption in every language, as an operator does."""
        for lang, board in self.boards.items():
            if message := board.hide(key):
                self.publisher.on_caption(message, lang)

    def edit(self, key: int, text: str) -> None:
        message = self.board.edit(key, text)
        assert message
        self.publisher.on_caption(message, self.board.target)

    def redact(self, from_s: float, to_s: float) -> None:
        for lang, board in self.boards.items():
            for message in board.purge(Redaction(from_s, to_s)):
                self.publisher.on_caption(message, lang)

    async def arrives(self) -> None:
        """Wait until the stream has every caption that was said."""
        await reached(lambda: not self.publisher.waiting)

    async def close(self) -> None:
        await asyncio.to_thread(self.publisher.close)

    @property
    def codes(self) -> list[str]:
        """Return the codes of the faults that operators saw."""
        return [getattr(report, "code", "") for report in self.reports]


@asynccontextmanager
async def church(url: str, *args: Any, **settings: Any) -> AsyncIterator[Church]:
    """Yield a church that publishes."""
    made = Church(url, *args, **settings)
    made.start()
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def relay(url: str, **flags: Any) -> AsyncIterator[Relay]:
    """Yield a relay that follows and serves."""
    settings = load(flags={"publish.nats": url, "server.port": 0, **flags}).settings
    made = Relay(settings)
    await made.start()
    try:
        yield made
    finally:
        await made.close()


async def delete_stream(url: str, church: str = "church") -> None:
    """Delete a church's stream, as a user may with NATS tools."""
    from nats.aio.client import Client

    client = Client()
    await client.connect(url)
    await client.jetstream().delete_stream(stream_name(church))
    await client.close()


def texts(board: CaptionBoard) -> list[str]:
    """Return the captions that a display would show."""
    return [message.target.text for message in board.snapshot().messages]
