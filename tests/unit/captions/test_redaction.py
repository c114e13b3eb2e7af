"""Off the record: afterwards nothing and nobody has the words that were just said."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import structlog
from websockets.asyncio.client import ClientConnection

from pipeline.captions.redaction import Redaction, RedactionFilter
from tests.support.daemon import Service, until
from tests.support.fakes import FakeRecognizer, FakeSource, FakeTranslator, Speech, pcm_of
from tests.support.patience import reached
from tests.support.schemas import problems

KEPT = [Speech(1.0 + 3 * n, 2.6 + 3 * n, f"kept number {n} of this evening") for n in range(3)]
SECRET = [
    Speech(11.0, 12.6, "Ludmila forgave somebody yesterday"),
    Speech(14.0, 15.6, "the pastor mentioned Przemek again"),
]
DURING = Speech(17.0, 21.0, "Quentin whispers something very private now truly")
AFTER = Speech(32.0, 33.6, "back again with everything fine")
FLAGS = {"operator.off_record_s": 8.0, "audio.input": "script", "audio.pace": "realtime"}
WORDS = ("ludmila", "forgave", "przemek", "pastor", "quentin", "whispers", "private")


def test_what_has_any_part_in_the_stretch_goes() -> None:
    purge = Redaction(10.0, 20.0, (3,))
    assert purge.takes(7, 12.0, 13.0)
    assert purge.takes(7, 9.0, 10.1)
    assert purge.takes(7, 19.9, 25.0)
    assert purge.takes(3, 1.0, 2.0)
    assert not purge.takes(7, 9.0, 10.0)
    assert not purge.takes(7, 20.0, 25.0)
    assert not Redaction(20.0, 20.0).takes(7, 18.0, 20.0), "from now on only"


def line(**fields: Any) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def test_lines_of_every_file_are_known_again() -> None:
    sweep = RedactionFilter(Redaction(10.0, 20.0))
    gone = [
        line(type="caption", id=4, start_s=11.0, end_s=12.0),
        line(type="caption", id=4, start_s=11.0, end_s=12.0, seq=9),
        line(type="utterance", id=4, start_s=11.0, end_s=12.0),
        line(type="compare", id=4, text="x"),
        line(id=4, outcome="approved"),
        line(type="summary", corrections={"philemon": 1}),
        line(type="event", event="notice", at_s=12.0, texts={"es": "x"}),
        line(type="event", event="rule", at_s=12.0, held=True),
        b'{"type":"caption","id":4,"sta\n',
        b"[]\n",
    ]
    kept = [
        line(type="caption", id=3, start_s=1.0, end_s=2.0),
        line(type="compare", id=3),
        line(type="event", event="command", id=4),
        line(type="event", event="rule", id="philemon"),
        line(type="event", event="notice", at_s=12.0, texts={}),
        line(type="event", event="song", held=True, from_s=1.0, to_s=12.0),
        line(type="health", audio_s=3.0),
    ]
    assert [sweep.line(each) for each in gone] == [b""] * len(gone)
    assert [sweep.line(each) for each in kept] == kept
    assert sweep.captions == 1


# The whole daemon, with engines that follow a script


class Paced(FakeSource):
    """A fast source that pauses at each of `stops_s` until its gate is set."""

    def __init__(self, script: list[Speech], *stops_s: float) -> None:
        super().__init__(pcm_of(script, 45.0), hold=True, speed=12)
        self.stops_s = list(stops_s)
        self.gates = [threading.Event() for _ in stops_s]
        self.stopped = False

    def blocks(self) -> Any:
        for block in super().blocks():
            while self.stops_s and block.start_sample >= self.stops_s[0] * 16_000:
                self.stopped = True
                while not self.gates[-len(self.stops_s)].wait(0.05):
                    if self.closed.is_set():
                        return
                self.stops_s.pop(0)
            yield block


class Desk:
    """An operator's socket, with the operator's commands."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def command(self, name: str, **fields: Any) -> dict[str, Any]:
        await self.socket.send(json.dumps({"type": "command", "name": name, **fields}))
        return await until(
            self.socket,
            lambda m: m["type"] == "error" or (m["type"], m.get("name")) == ("done", name),
        )


@asynccontextmanager
async def desk(service: Service) -> AsyncIterator[tuple[Desk, dict[str, Any]]]:
    async with service.connect("?kind=operator") as socket:
        await socket.send('{"type":"auth","token":"secret"}')
        console = await until(socket, lambda m: m["type"] == "console")
        assert problems("messages/console", console) == []
        yield Desk(socket), console


def final(text: str) -> Callable[[dict[str, Any]], bool]:
    return lambda m: m["type"] == "caption" and m["final"] and text in m["source"]["text"]


def version_of(key: int) -> Callable[[dict[str, Any]], bool]:
    return lambda m: m["type"] == "caption" and m["id"] == key


async def everything(service: Service) -> str:
    """Return all text sent to a phone, to one that was away, and to a new operator's page."""
    got = []
    for query in ("", "?history=1", "?since=1", "?since=3&lang=en"):
        async with service.connect(query) as socket:
            hello = orjson.loads(await socket.recv())
            # A display must replace its captions; a new run's other session name does the same.
            assert not hello["resumed"] or "+" in hello["session"]
            got.append(str(hello))
            if "history" in query:
                got.append(str(await socket.recv()))
    async with desk(service) as (_, console):
        got.append(str(console))
    return " ".join(got).lower()


def files(folder: Path) -> str:
    return " ".join(p.read_bytes().decode().lower() for p in folder.rglob("*") if p.is_file())


def said(text: str) -> list[str]:
    return [word for word in WORDS if word in text]


def run(tmp_path: Path, beside: Callable[[Service], Awaitable[None]], **parts: Any) -> Service:
    script = [*KEPT, *SECRET, DURING, AFTER]
    flags = FLAGS | parts.pop("flags", {})
    service = Service(tmp_path, recognizer=FakeRecognizer(script), fast=False, flags=flags, **parts)
    assert service.run(beside) == 0
    return service


@pytest.mark.slow
def test_off_the_record_nobody_and_nothing_has_the_words(tmp_path: Path) -> None:
    source = Paced([*KEPT, *SECRET, DURING, AFTER], 19.0, 30.0)
    away: list[dict[str, Any]] = []

    async def operate(service: Service) -> None:
        async with service.connect() as phone, desk(service) as (operator, console):
            assert (console["off_record"], console["off_record_s"]) == (False, 8.0)
            await until(phone, final("Przemek"))
            await until(phone, lambda m: m["type"] == "caption" and "Quentin" in str(m))
            shown = service.app._context.hub._boards.first.seq
            await operator.command("edit", id=4, text="Ludmila perdonó")
            await operator.command("edit", id=1, text="Corregido")
            await reached(lambda: len(said(files(service.app.folder))) >= 4)
            (service.app.folder / "report.html").write_text("Przemek")

            done = await operator.command("off-record")
            assert (done["off_record"], done["undo"]) == (True, "edit of caption 1")
            status = await until(phone, lambda m: m["type"] == "status" and m["state"] == "blank")
            assert status["reason"].startswith("off the record")
            for key in (4, 5, 6):
                gone = await until(phone, version_of(key))
                assert (gone["source"]["text"], gone["target"]["text"]) == ("", "")
                assert gone["final"]
                assert gone["seq"] > shown
            await reached(lambda: not service.app._context.recorder.purging)
            assert said(files(service.app.folder)) == []
            assert said(await everything(service)) == []

            # Only "on-record" ends it, and nothing brings a word back.
            source.gates[0].set()
            for name in ("pause", "resume", "blank", "unblank", "undo", "undo", "off-record"):
                assert (await operator.command(name)).get("off_record", True)
            for key in (4, 5, 6):
                for name, fields in (("edit", {"text": "x"}), ("hide", {})):
                    refused = await operator.command(name, id=key, **fields)
                    assert refused["code"] == "unknown-caption"
            assert service.app.health.record().state == "blank"
            await reached(lambda: service.app._group.listen.heard_s > 29.5)
            assert said(await everything(service)) == []

            assert not (await operator.command("on-record"))["off_record"]
            source.gates[1].set()
            away.append(await until(phone, final("back again")))
            service.app.stop()

    with structlog.testing.capture_logs() as logged:
        service = run(tmp_path, operate, source=source)
    assert said(str([each for each in logged if each["log_level"] != "debug"]).lower()) == []
    assert said(files(tmp_path)) == []
    assert not (service.app.folder / "report.html").exists()
    assert away[0]["id"] > 6
    texts = {each["source"]["text"] for each in service.journal()}
    assert texts == {*(each.text for each in KEPT), AFTER.text}
    (event,) = [each for each in service.records("event") if each["event"] == "off-record"]
    assert problems("records/event", event) == []
    assert event["captions"] == 2
    assert event["from_s"] == pytest.approx(event["to_s"] - 8.0, abs=0.01)
    summary = orjson.loads((service.app.folder / "summary.json").read_bytes())
    assert summary["utterances"] == len(service.records()) == len(KEPT) + 1
    cues = (service.app.folder / "transcript.en.txt").read_text().splitlines()
    assert cues == [*(each.text for each in KEPT), AFTER.text]


@pytest.mark.slow
def test_a_final_that_was_being_made_never_comes(tmp_path: Path) -> None:
    """Gemma translates one final, another waits; `off_record_s` is 0, so only these are removed."""
    hang = threading.Event()
    source = Paced([*KEPT, *SECRET, DURING, AFTER], 19.0, 30.0)
    gemma = FakeTranslator("gemma")

    async def operate(service: Service) -> None:
        async with service.connect() as phone, desk(service) as (operator, _):
            await until(phone, final("kept number 2"))
            gemma.hang = hang
            translate = service.app._group.targets[0].translate
            assert translate is not None
            await until(phone, lambda m: m["type"] == "caption" and "Quentin" in str(m))
            assert translate.doing is not None
            assert translate._drafts.qsize()
            await operator.command("off-record")
            await reached(lambda: not service.app._context.recorder.purging)
            assert (translate._drafts.qsize(), service.app._news.tracks.unfinished) == (0, 0)
            await operator.command("on-record")  # before Gemma returns
            hang.set()
            gemma.hang = None
            for gate in source.gates:
                gate.set()
            # The rest of the sentence being spoken is recognized again from here on.
            await until(phone, final("back again"))
            assert not {"ludmila", "przemek"} & set(said(await everything(service)))
            service.app.stop()

    service = run(tmp_path, operate, source=source, final=gemma, flags={"operator.off_record_s": 0})
    journal = [each["source"]["text"] for each in service.journal()]
    assert journal[:3] == [each.text for each in KEPT]
    assert not any("Ludmila" in text or "Przemek" in text for text in journal)
    written = files(service.app.folder)
    assert not {"ludmila", "przemek"} & set(said(written))
