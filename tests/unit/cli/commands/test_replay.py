"""`replay` in this process; test_service.py runs it as a separate program."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import connect

from pipeline.cli.commands.replay import Replay
from pipeline.cli.screens import LineScreen
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import SessionError
from scripts.support.journal import message, session
from tests.support.hub import fetch

JOURNAL = [
    message(1, "one", "uno", start_s=600.0, end_s=602.0, seq=4),
    message(2, "two", "dos", start_s=604.0, end_s=606.0, seq=9),
    message(3, "hidden", "oculto", start_s=607.0, end_s=608.0, seq=11),
    message(4, "four", "cuatro", start_s=608.0, end_s=612.0, seq=12),
    message(3, "", "", start_s=607.0, end_s=608.0, seq=14),
    message(1, "one", "Uno.", start_s=600.0, end_s=602.0, seq=15, engine="operator"),
]


def settings() -> Settings:
    return load(flags={"server.port": 0, "operator.token": "secret"}).settings


async def watched(
    folder: Path, speed: float, query: str = ""
) -> tuple[list[tuple[float, dict[str, Any]]], int, dict[str, Any]]:
    """Replay; return what a display gets and when, the exit code, and /healthz at the end."""
    replay = Replay(folder, settings(), speed=speed, screen=LineScreen())
    run = asyncio.create_task(replay.run())
    while not replay.hub._port._servers:
        await asyncio.sleep(0.001)
    seen: list[tuple[float, dict[str, Any]]] = []
    uri = f"ws://127.0.0.1:{replay.hub.port}/ws{query}"
    async with asyncio.timeout(30), connect(uri, compression=None) as socket:
        async for raw in socket:
            seen.append((time.monotonic(), orjson.loads(raw)))
            if seen[-1][1].get("state") == "ended":
                break
        reply = await asyncio.to_thread(fetch, replay.hub.port, "/healthz", "GET", {})
        os.kill(os.getpid(), signal.SIGINT)
        code = await run
    return seen, code, orjson.loads(reply.body)


@pytest.mark.slow
def test_captions_come_as_finals_in_order_with_their_own_timing(tmp_path: Path) -> None:
    seen, code, health = asyncio.run(watched(session(tmp_path, JOURNAL), speed=10))
    assert code == 0
    hello = seen[0][1]
    assert (hello["mode"], hello["source"], hello["targets"]) == ("demo", "en", ["es"])
    assert hello["session"] == "replay-2026-11-22T09-30-00"
    captions = [(at_s, m) for at_s, m in seen if m["type"] == "caption"]
    assert [(m["id"], m["seq"], m["revision"], m["final"]) for _, m in captions] == [
        (1, 1, 1, True),
        (2, 2, 1, True),
        (4, 3, 1, True),
    ]
    assert [m["target"]["text"] for _, m in captions] == ["Uno.", "dos", "cuatro"]
    apart_s = captions[-1][0] - captions[0][0]
    assert apart_s > 0.9 * (612 - 602) / 10
    states = [m["state"] for _, m in seen if m["type"] == "status"]
    assert states[-7:] == ["speech", "listening"] * 3 + ["ended"]
    assert (health["state"], health["audio_s"], health["speed"]) == ("ended", 612.0, 10)


@pytest.mark.slow
def test_a_late_display_gets_what_was_shown_and_stopping_needs_no_end(tmp_path: Path) -> None:
    async def late() -> tuple[dict[str, Any], int]:
        replay = Replay(session(tmp_path, JOURNAL), settings(), speed=2, screen=LineScreen())
        run = asyncio.create_task(replay.run())
        while replay._board.seq < 1:
            await asyncio.sleep(0.01)
        uri = f"ws://127.0.0.1:{replay.hub.port}/ws?since=1&session=2026-11-22T09-30-00"
        async with asyncio.timeout(30), connect(uri, compression=None) as socket:
            hello = orjson.loads(await socket.recv())
            os.kill(os.getpid(), signal.SIGTERM)
            code = await run
        return hello, code

    hello, code = asyncio.run(late())
    assert code == 0
    assert not hello["resumed"]
    assert [m["target"]["text"] for m in hello["captions"]] == ["Uno."]


def test_an_operator_is_told_that_it_takes_no_commands(tmp_path: Path) -> None:
    async def operate() -> str:
        replay = Replay(session(tmp_path, JOURNAL), settings(), speed=1, screen=LineScreen())
        run = asyncio.create_task(replay.run())
        while not replay.hub._port._servers:
            await asyncio.sleep(0.001)
        uri = f"ws://127.0.0.1:{replay.hub.port}/ws?kind=operator"
        async with asyncio.timeout(30), connect(uri, compression=None) as socket:
            await socket.send('{"type":"auth","token":"secret"}')
            await socket.send('{"type":"command","name":"pause"}')
            while (message := orjson.loads(await socket.recv()))["type"] != "error":
                pass
            os.kill(os.getpid(), signal.SIGINT)
            assert await run == 0
        code: str = message["code"]
        return code

    assert asyncio.run(operate()) == "replay"


def test_a_session_without_captions_is_told(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="session-empty"):
        Replay(session(tmp_path, []), settings(), speed=1, screen=LineScreen())
