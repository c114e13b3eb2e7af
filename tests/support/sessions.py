"""A session by the real App in which every kind of recorded event happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.errors import AudioLostError, EngineError
from pipeline.core.formats import utc_now
from pipeline.core.types import AudioBlock, Translation
from pipeline.records.events import DictionaryEvent
from pipeline.session import recorder
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import LIMIT_S, Rung
from tests.support.daemon import Service
from tests.support.fakes import (
    FakeRecognizer,
    FakeSource,
    FakeTranslator,
    Speech,
    blocks_of,
    pcm_of,
)

SCRIPT = [
    Speech(1.0, 2.6, "sentence number one is spoken"),
    Speech(4.0, 5.6, "sentence number two is doubtful"),
    Speech(7.0, 8.6, "sentence number three is hidden"),
    Speech(10.0, 11.6, "sentence number four is translated quickly"),
    Speech(13.0, 14.6, "[music]"),
    Speech(16.0, 17.6, "sentence number five is spoken"),
]
LAST = 6
RULE = '[[rule]]\nhear = ["number"]\nwrite = "Number"\nexample = "number"\nbecomes = "Number"\n'


@dataclass
class LooseCable(FakeSource):
    """A source that disconnects once, before the last sentence."""

    lost: bool = False

    def blocks(self) -> Iterator[AudioBlock]:
        every = list(blocks_of(self.pcm))
        at = len(every) * 3 // 4
        for block in every[at:] if self.lost else every[:at]:
            self.closed.wait(0.004)
            yield block
        if not self.lost:
            self.lost = True
            raise AudioLostError("audio-lost", "The microphone is gone.")


class Spanish(FakeTranslator):
    """A translator unsure of the second sentence; as Gemma it fails on the fourth."""

    def translate(self, text: str, *_: object) -> Translation:
        if self.name == "gemma" and "four" in text:
            raise EngineError("final-failed", "The translator was told to fail.")
        words = [f"{word}o" for word in text.split()]
        sure = -0.5 if "two" in text else -0.01
        return Translation(" ".join(words), self.name, len(words), sure, 12, 4)


@dataclass
class Session:
    """What a session left behind."""

    folder: Path
    sent: list[dict[str, Any]] = field(default_factory=list)
    """The messages that an operator's display got."""

    def lines(self, name: str = "diagnostics.jsonl") -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in (self.folder / name).read_bytes().splitlines()]

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.lines() if record["type"] == kind]


def eventful(directory: Path) -> Session:
    """Make a session with a busy operator and with faults of the machine."""
    directory.mkdir()
    (directory / "own.toml").write_text(RULE)
    service = Service(
        directory,
        source=LooseCable(pcm_of(SCRIPT, 20.0)),
        recognizer=FakeRecognizer(SCRIPT),
        partial=Spanish("marian"),
        final=Spanish("gemma"),
        fast=False,
        flags={
            "dictionary.enabled": True,
            "dictionary.file": str(directory / "own.toml"),
            "operator.off_record_s": 0,  # otherwise no word is left
        },
    )
    session = Session(service.app.folder)

    async def operate(service: Service) -> None:
        async with service.connect("?kind=operator") as socket:

            async def send(**message: object) -> None:
                await socket.send(orjson.dumps(message).decode())

            await send(type="auth", token="secret")
            await send(type="command", name="stop")
            async for raw in socket:
                message = orjson.loads(raw)
                session.sent.append(message)
                if message["type"] == "utterance" and message["final"] is not None:
                    if message["id"] == 1:
                        await send(type="command", name="edit", id=1, text="Corregido")
                        service.app._reload.hangup()
                    if message["id"] == 3:
                        await send(type="command", name="notice", text="A las 10:40.", lang="es")
                        await send(type="command", name="clear-notice")
                        await send(type="command", name="hide", id=3)
                        await send(type="command", name="blank")
                        await send(type="command", name="unblank")
                        await send(type="command", name="add-rule", heard="threa", write="three")
                        await send(type="command", name="preview-rule", heard="threa", write="x")
                        await send(type="command", name="undo")
                        await send(type="command", name="reload")
                    if message["id"] == LAST:
                        await send(type="command", name="off-record")
                        await send(type="command", name="on-record")

    limit_s, LIMIT_S[Rung.FEWER_PARTIALS] = LIMIT_S[Rung.FEWER_PARTIALS], -1.0
    try:
        assert service.run(operate) == 0
    finally:
        LIMIT_S[Rung.FEWER_PARTIALS] = limit_s
    return session


def broken(directory: Path) -> Session:
    """Make a session that breaks on a recognizer fault and continues in the next run."""
    service = Service(directory, recognizer=FakeRecognizer(SCRIPT, fails=lambda _: True))
    assert service.run() == 1
    after = Service(directory, recognizer=FakeRecognizer(SCRIPT))
    assert after.run() == 0
    assert after.app.folder == service.app.folder
    return Session(service.app.folder)


def crowded(directory: Path) -> Session:
    """Make a session that loses records to a full queue."""
    size, recorder._QUEUE = recorder._QUEUE, 1
    try:
        full = SessionRecorder(directory, source="en", targets=("es",), on_fault=print)
    finally:
        recorder._QUEUE = size
    for rules in range(3):
        full.record(DictionaryEvent(utc=utc_now(), rules=rules))
    full.start()
    full.close(5.0)
    return Session(full.folder)
