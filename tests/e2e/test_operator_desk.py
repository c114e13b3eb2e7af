"""An operator at work on the real program: real models, real files, two real displays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from websockets.asyncio.client import ClientConnection, connect

from pipeline.dictionary.rules import parse_rules
from scripts.support.program import SERMON, Program, started
from tests.support.schemas import problems

pytestmark = pytest.mark.slow


async def until(
    socket: ClientConnection, wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Return the first wanted message; every message must fit its schema."""
    while True:
        message: dict[str, Any] = orjson.loads(await asyncio.wait_for(socket.recv(), 90))
        kind = message["type"]
        name = f"records/{kind}" if kind == "utterance" else f"messages/{kind}"
        assert problems(name, message) == []
        if wanted(message):
            return message


def caption(key: int, text: str) -> Callable[[dict[str, Any]], bool]:
    return lambda m: m["type"] == "caption" and m["id"] == key and m["target"]["text"] == text


async def operate(program: Program, token: str, own: Path) -> None:
    """Correct a transcript, teach a word, and undo both; other commands need no engine."""
    async with (
        connect(program.socket() + "?kind=operator", compression=None) as coordinator,
        connect(program.socket(), compression=None) as phone,
    ):

        async def command(name: str, **fields: Any) -> dict[str, Any]:
            message = {"type": "command", "name": name, **fields}
            await coordinator.send(orjson.dumps(message).decode())
            return await until(coordinator, lambda m: m["type"] == "done" and m["name"] == name)

        await coordinator.send(orjson.dumps({"type": "auth", "token": token}).decode())
        console = await until(coordinator, lambda m: m["type"] == "console")
        assert (console["dictionary"], console["check"]) == (str(own), None)

        first = await until(
            coordinator, lambda m: m["type"] == "utterance" and m["final"] is not None
        )
        key, said = first["id"], first["final"]["text"]
        await command("correct", id=key, text="The grace of God is with you all.")
        made = await until(
            phone,
            lambda m: (
                m["type"] == "caption"
                and m["id"] == key
                and m["source"]["text"] == "The grace of God is with you all."
                and m["target"]["text"] not in (said, "")
            ),
        )
        assert made["corrected"]
        assert made["target"]["engine"] == "marian"
        assert "gracia" in made["target"]["text"].lower()
        assert (await command("undo"))["undo"] == ""
        await until(phone, caption(key, said))
        await command("add-rule", heard="the lord", write="Zebaoth")
        assert [rule.write for rule in parse_rules(own.read_text(), "own")] == ["Zebaoth"]
        taught = await until(
            coordinator, lambda m: m["type"] == "utterance" and "Zebaoth" in (m["text"] or "")
        )
        fix = taught["corrections"][0]
        assert (fix["rule"], fix["found"].lower()) == ("zebaoth", "the lord")
        await command("undo")
        assert own.read_text() == ""


def test_an_operator_at_work(tmp_path: Path) -> None:
    tiny = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny"}
    # Start at the Bible reading, where "the Lord" is said every few seconds.
    spoken, rate = soundfile.read(SERMON, start=round(16.8 * 16_000))
    # Repeated: on a busy machine the operator takes longer than the preacher.
    soundfile.write(tmp_path / "a.wav", np.tile(spoken, 4), rate)
    with started("run", "--input", "a.wav", cwd=tmp_path, **tiny) as program:
        ready = program.wait_for("operator")
        assert ready["page"] == f"{program.address}/operator"
        token = (tmp_path / ready["token"]).read_text().strip()
        own = Path("sessions/dictionary.toml")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            asyncio.run(operate(program, token, own))
        assert program.stop() == 0
        names = [event["name"] for event in program.records("event") if event["event"] == "command"]
        assert names == ["correct", "undo", "add-rule", "undo"]
    files = [path for path in (tmp_path / "sessions").rglob("*") if path.is_file()]
    holders = [path.name for path in files if token.encode() in path.read_bytes()]
    assert holders == ["operator-token"]
    assert token not in f"{program.log} {program.noise}"
