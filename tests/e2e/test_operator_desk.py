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
    """Return the first message that is wanted; whatever comes must fit its schema."""
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
    """Edit, hide, teach a word, darken the hall, and take all of it back."""
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
        await command("edit", id=key, text="Corregido.")
        await until(phone, caption(key, "Corregido."))
        await command("hide", id=key)
        await until(phone, caption(key, ""))
        assert (await command("undo"))["undo"] == f"edit of caption {key}"
        await until(phone, caption(key, "Corregido."))
        assert (await command("undo"))["undo"] == ""
        await until(phone, caption(key, said))
        await command("hide", id=key)
        await until(phone, caption(key, ""))
        await command("show", id=key)
        again = await until(phone, caption(key, said))
        assert again["source"]["text"] == first["text"]
        assert again["target"]["engine"] == first["final"]["engine"]
        for _ in range(2):
            await command("undo")

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
        await command("notice", text="The sermon starts soon.", lang="en")
        notice = await until(phone, lambda m: m["type"] == "notice" and len(m["texts"]) == 2)
        assert notice["texts"]["en"] == "The sermon starts soon."
        await command("clear-notice")
        await until(phone, lambda m: m["type"] == "notice" and not m["texts"])
        await command("undo")
        await command("undo")

        assert (await command("blank"))["blank"]
        await until(phone, lambda m: m["type"] == "status" and m["state"] == "blank")
        assert not (await command("undo"))["blank"]
        await until(phone, lambda m: m["type"] == "status" and m["state"] != "blank")

        await command("add-rule", heard="the lord", write="Zebaoth")
        assert [rule.write for rule in parse_rules(own.read_text(), "own")] == ["Zebaoth"]
        taught = await until(
            coordinator, lambda m: m["type"] == "utterance" and "Zebaoth" in (m["text"] or "")
        )
        fix = taught["corrections"][0]
        assert (fix["rule"], fix["found"].lower()) == ("zebaoth", "the lord")
        await phone.send(orjson.dumps({"type": "ack", "seq": 10**9}).decode())  # never published
        health = await until(coordinator, lambda m: m["type"] == "health")
        assert {(row["kind"], row["clients"]) for row in health["displays"]} == {
            ("audience", 1),
            ("operator", 1),
        }
        await command("undo")
        assert own.read_text() == ""


def test_an_operator_at_work(tmp_path: Path) -> None:
    tiny = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny"}
    # From the reading on, in which "the Lord" is said every few seconds.
    spoken, rate = soundfile.read(SERMON, start=round(16.8 * 16_000))
    # Again and again: on a busy machine the operator takes longer than the preacher.
    soundfile.write(tmp_path / "a.wav", np.tile(spoken, 4), rate)
    with started("run", "--input", "a.wav", cwd=tmp_path, **tiny) as program:
        told = program.wait_for("operator")
        assert told["page"] == f"{program.address}/operator"
        token = (tmp_path / told["token"]).read_text().strip()
        own = Path("sessions/dictionary.toml")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            asyncio.run(operate(program, token, own))
        assert program.stop() == 0
        names = [event["name"] for event in program.records("event") if event["event"] == "command"]
        written = ["correct", "undo", "notice", "clear-notice", "undo", "undo"]
        undone = ["blank", "unblank", "undo", "add-rule", "undo"]
        assert names == [
            *("edit", "hide", "undo", "undo", "hide", "show", "undo", "undo"),
            *written,
            *undone,
        ]
    files = [path for path in (tmp_path / "sessions").rglob("*") if path.is_file()]
    holders = [path.name for path in files if token.encode() in path.read_bytes()]
    assert holders == ["operator-token"]
    assert token not in f"{program.log} {program.noise}"


async def check(program: Program, token: str) -> list[dict[str, Any]]:
    """Start a check at the desk; return what it tells, to its end."""
    told: list[dict[str, Any]] = []
    async with connect(program.socket() + "?kind=operator", compression=None) as desk:
        await desk.send(orjson.dumps({"type": "auth", "token": token}).decode())
        await until(desk, lambda m: m["type"] == "health" and m["state"] == "listening")
        await desk.send(b'{"type":"command","name":"check"}'.decode())
        while not (told and told[-1]["check"]):
            told.append(await until(desk, lambda m: m["type"] == "check"))
    return told


def test_a_check_at_the_desk_tries_the_engines_that_run(tmp_path: Path) -> None:
    hiss = np.random.default_rng(1).normal(0, 0.001, 120 * 16_000)
    soundfile.write(tmp_path / "hiss.wav", hiss, 16_000)
    flags = ("--input", "hiss.wav", "--pace", "realtime")
    with started("run", *flags, cwd=tmp_path) as program:
        token = (tmp_path / program.wait_for("operator")["token"]).read_text().strip()
        told = asyncio.run(check(program, token))
        assert program.stop() == 0
    assert [message["doing"] for message in told][-2:] == [
        "Speak into the microphone: listening for 5 s",
        "",
    ]
    found = {result["test"]: result for result in told[-1]["check"]["results"]}
    assert [name for name in found if name.startswith(("model", "golden"))] == [
        *("model-stt", "golden-stt", "model-marian", "golden-marian"),
        *("model-gemma", "golden-gemma"),
    ]
    assert "all evil" in found["golden-stt"]["line"]
    assert "Señor" in found["golden-gemma"]["line"]
    assert "starter" in found["model-stt"]["fix"]
    assert found["level"]["verdict"] == "failed"
    assert "nobody can be heard" in found["level"]["line"]
    assert told[-1]["check"]["differs"] == []
    assert program.records("utterance") == []
