"""The real App with scripted engines, and displays that connect to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self

import orjson
from websockets.asyncio.client import ClientConnection, connect

from pipeline.audio.protocols import AudioSource, SongDetector, SpeechDetector
from pipeline.cli.screens import LineScreen
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.daemon.life.app import App
from pipeline.dictionary.store import Dictionary
from pipeline.engines.protocols import Recognizer, TargetEngines, Translator
from pipeline.workers.base import Engines
from tests.support.fakes import (
    FakeDetector,
    FakeRecognizer,
    FakeSource,
    FakeTranslator,
    Speech,
    pcm_of,
)
from tests.support.patience import PATIENCE_S

SCRIPT = [
    Speech(1.0 + 3 * n, 2.6 + 3 * n, f"sentence number {word} is spoken")
    for n, word in enumerate(["one", "two", "three", "four", "five", "six"])
]
DURATION_S = 20.0
SHORT, SHORT_S = SCRIPT[:4], 14.0
"""For tests that run often."""
MARIAN = FakeTranslator("marian")
GEMMA = FakeTranslator("gemma")
UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Service:
    """An App with scripted engines, run to its end."""

    def __init__(
        self,
        tmp_path: Path,
        *,
        source: AudioSource | None = None,
        recognizer: Recognizer | None = None,
        detector: SpeechDetector | None = None,
        songs: SongDetector | None = None,
        partial: Translator | None = MARIAN,
        final: Translator | None = GEMMA,
        compare: Translator | None = None,
        fast: bool = True,
        mode: str = "live",
        flags: dict[str, Any] | None = None,
        file: Path | None = None,
        extra_targets: Mapping[str, tuple[Translator | None, Translator | None]] | None = None,
    ) -> None:
        """`flags` that are None leave settings to `file`, which can be read again.

        `extra_targets`: quick and final translator by further target language.
        """
        usual: dict[str, Any] = (
            {
                "server.port": 0,
                "session.directory": str(tmp_path),
                "session.drain_s": 5.0,
                "dictionary.enabled": False,
                "church.verses": "off",  # reading a Bible takes as long as the whole service
                "audio.input": "script" if fast else "",
                "audio.pace": "fast",
                "operator.token": "secret",
                "vad.join_ms": 0,  # the sentences of scripts have no full stops
            }
            | (
                {"translate.targets": [{"lang": lang} for lang in extra_targets]}
                if extra_targets
                else {}
            )
            | (flags or {})
        )
        given = {name: flag for name, flag in usual.items() if flag is not None}
        loaded = load(file, given)
        self.settings: Settings = loaded.settings
        engines = Engines(
            source=source or FakeSource(pcm_of(SCRIPT, DURATION_S)),
            detector=detector or FakeDetector(),
            songs=songs,
            recognizer=recognizer or FakeRecognizer(SCRIPT),
            targets=tuple(
                TargetEngines(lang, *pair)
                for lang, pair in {"es": (partial, final), **(extra_targets or {})}.items()
            ),
            compare=compare,
        )
        self.app = App(
            self.settings,
            engines,
            dictionary=Dictionary(self.settings),
            screen=LineScreen(),
            mode=mode,  # type: ignore[arg-type]
            read=(lambda: loaded.again().settings) if file else None,
        )

    def run(self, beside: Callable[[Self], Awaitable[None]] | None = None) -> int:
        async def both() -> int:
            run = asyncio.create_task(self.app.run())
            if beside is not None:
                while not self.app._context.hub._port._servers:
                    await asyncio.sleep(0.01)
                await beside(self)
            return await run

        return asyncio.run(both())

    def connect(self, query: str = "") -> connect:
        # A full queue stops the reading, and then closing waits for ten seconds.
        address = f"ws://127.0.0.1:{self.app._context.hub.port}/ws{query}"
        return connect(address, compression=None, max_queue=None)

    def journal(self, name: str = "captions.jsonl") -> list[dict[str, Any]]:
        lines = (self.app.folder / name).read_bytes().splitlines()
        return [orjson.loads(line) for line in lines]

    def records(self, kind: str = "utterance") -> list[dict[str, Any]]:
        lines = (self.app.folder / "diagnostics.jsonl").read_bytes().splitlines()
        return [record for line in lines if (record := orjson.loads(line))["type"] == kind]

    def faults(self, *beginnings: str) -> list[str]:
        """Return the codes of its faults; with `beginnings`, of those that begin so."""
        events = (each for each in self.records("event") if each["event"] == "fault")
        return [each["code"] for each in events if each["code"].startswith(beginnings or "")]

    def finals(self) -> list[tuple[int, str]]:
        return [(line["id"], line["target"]["engine"]) for line in self.journal()]


class ShortService(Service):
    """A service with four sentences, unless a test passes another script."""

    def __init__(self, tmp_path: Path, **parts: Any) -> None:
        source = FakeSource(pcm_of(SHORT, SHORT_S))
        super().__init__(tmp_path, **{"source": source, **parts})


async def until(
    socket: ClientConnection, wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Return the first wanted message; the captions in `hello` count too."""
    while True:
        message: dict[str, Any] = orjson.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))
        for each in (message, *message.get("captions", [])):
            if wanted(each):
                return each  # type: ignore[no-any-return]


async def operate(service: Service, *commands: dict[str, Any]) -> None:
    """Give commands as an operator, each when the one before is done."""
    async with service.connect("?kind=operator") as socket:
        await socket.send(orjson.dumps({"type": "auth", "token": "secret"}).decode())
        for command in commands:
            await socket.send(orjson.dumps({"type": "command", **command}).decode())
            await until(socket, lambda m, name=command["name"]: m.get("name") == name)  # type: ignore[misc]


def all_finals(engine: str) -> list[tuple[int, str]]:
    return [(number, engine) for number in range(1, len(SCRIPT) + 1)]


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def crash(call: int) -> bool:
    if call > 12:
        raise RuntimeError("a bug")
    return False


def break_midway(directory: Path) -> Path:
    """Let a daemon with a blanked display break while it captions; return its sessions."""

    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=10)
    service = Service(directory, source=source, recognizer=FakeRecognizer(SCRIPT, fails=crash))
    assert service.run(lambda service: operate(service, {"name": "blank"})) == 1
    assert service.finals()
    return directory
