"""The operator whom the demo plays, at a socket that says what a daemon's does."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import orjson
from structlog.testing import capture_logs
from websockets.asyncio.server import ServerConnection, serve

from pipeline.cli.demo_operator import DemoOperator

SCRIPT = {
    "sections": [
        {"start_s": 0.5, "says": "A welcome."},
        {"start_s": 9.0, "says": "A name."},
        {"start_s": 60.0, "says": "The end."},
    ],
    "sentences": [
        {"start_s": 1.0, "end_s": 3.0, "en": "Welcome."},
        {"start_s": 10.0, "end_s": 12.0, "en": "He is from Nzoia.", "correct": True},
        {"start_s": 12.5, "end_s": 13.5, "en": "He is old."},
    ],
}


def caption(start_s: float, end_s: float, heard: str, *, final: bool = True) -> dict[str, Any]:
    times = {"start_s": start_s, "end_s": end_s}
    return {"type": "caption", "final": final, "id": 7, "source": {"text": heard}, **times}


def worked(messages: list[dict[str, Any]], notes: Path) -> list[dict[str, Any]]:
    """Return what the operator sends to a daemon that says this and closes."""
    sent: list[dict[str, Any]] = []

    async def daemon(socket: ServerConnection) -> None:
        sent.append(orjson.loads(await socket.recv()))
        last = {"type": "suggestion", "ref": "the last", "id": 99}
        for message in ({"type": "authorized"}, *messages, last):
            await socket.send(orjson.dumps(message).decode())
        while (answer := orjson.loads(await socket.recv())).get("id") != 99:
            sent.append(answer)

    async def run() -> None:
        async with serve(daemon, "127.0.0.1", 0) as server:
            page = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/operator"
            await DemoOperator(page, "secret", SCRIPT, notes, seen_s=0).work()

    asyncio.run(run())
    return sent


def test_he_adds_the_notes_shows_the_verse_and_corrects_what_was_heard(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("Brother Yohannes")
    messages = [
        caption(1.0, 3.0, "Well come."),  # nobody asked for this one
        {"type": "suggestion", "ref": "", "id": 0},
        {"type": "suggestion", "ref": "Juan 3:16", "id": 6},
        caption(10.0, 13.6, "He is from", final=False),
        caption(10.0, 13.6, "He is from Enzo. He is old."),
        caption(10.0, 13.6, "He is from Enzo. He is old."),
    ]
    with capture_logs() as logs:
        auth, added, *commands = worked(messages, notes)
    assert auth == {"type": "auth", "token": "secret"}
    assert (added["name"], base64.b64decode(added["data"])) == ("add-notes", b"Brother Yohannes")
    assert added["size"] == 16
    assert commands == [
        {"type": "command", "name": "take-verse", "id": 6},
        # The whole of the caption, as it was said; and once only.
        {"type": "command", "name": "correct", "id": 7, "text": "He is from Nzoia. He is old."},
    ]
    told = [line["says"] for line in logs if line["event"] == "demo"]
    assert all(line.startswith("The demo plays the operator: ") for line in told)
    assert len(told) == 4  # with the last


def test_he_tells_what_there_is_to_see_when_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Nothing")
    health = [{"type": "health", "audio_s": at_s} for at_s in (0.0, 2.0, 9.5)]
    with capture_logs() as logs:
        worked(health, tmp_path / "notes.md")
    told = [line["says"] for line in logs if line["event"] == "demo"]
    assert told[1:-1] == ["A welcome.", "A name."]


def test_what_was_heard_right_is_left(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Nothing")
    sent = worked([caption(10.0, 12.0, "He is from Nzoia.")], tmp_path / "notes.md")
    assert [message.get("name") for message in sent] == [None, "add-notes"]


def test_a_daemon_that_is_not_there_ends_his_work(tmp_path: Path) -> None:
    operator = DemoOperator("http://127.0.0.1:9/operator", "secret", SCRIPT, tmp_path)
    asyncio.run(operator.work())
