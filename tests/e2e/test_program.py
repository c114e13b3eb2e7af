"""The real program, the real starter models, a real socket, real signals."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from websockets.asyncio.client import connect

from scripts.support.program import SERMON, Program, started
from tests.support.cli import told
from tests.support.schemas import problems

pytestmark = pytest.mark.slow


TINY = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny"}


async def watch(
    program: Program, query: str = "", begun: asyncio.Event | None = None
) -> list[dict[str, Any]]:
    """Return every message of one connection until it ends."""
    async with connect(program.socket(query), compression=None) as display:
        if begun:
            begun.set()
        return [orjson.loads(raw) async for raw in display]


def never_reads(program: Program) -> socket.socket:
    """Return the connection of a display that never reads."""
    host, port = program.address.removeprefix("http://").split(":")
    deaf = socket.create_connection((host, int(port)))
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(
        f"GET /ws HTTP/1.1\r\nHost: {host}:{port}\r\n".encode()
        + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    return deaf


def finals_of(messages: list[dict[str, Any]]) -> dict[int, str]:
    """Return the newest final of each caption."""
    captions = [m for m in messages if m["type"] == "caption"]
    return {m["id"]: m["target"]["text"] for m in captions if m["final"]}


def test_a_recording_becomes_captions_on_all_displays_and_files(tmp_path: Path) -> None:
    """Twenty displays get them, although four more never read."""

    async def attend(program: Program) -> list[list[dict[str, Any]]]:
        begun = [asyncio.Event() for _ in range(20)]
        tasks = [asyncio.create_task(watch(program, "?lang=es&kind=projector", b)) for b in begun]
        await asyncio.gather(*(event.wait() for event in begun))
        deaf = [never_reads(program) for _ in range(4)]
        shown = await asyncio.gather(*tasks)
        for connection in deaf:
            connection.close()
        return shown

    arguments = ("run", "--input", str(SERMON), "--pace", "fast")
    with started(*arguments, cwd=tmp_path, **TINY) as program:
        shown = asyncio.run(attend(program))
        assert program.end() == 0
        journal = {m["id"]: m["target"]["text"] for m in program.journal()}
        assert [finals_of(messages) for messages in shown] == [journal] * len(shown)
        assert len([text for text in journal.values() if text]) >= 30
        messages = shown[0]
        captions = [m for m in messages if m["type"] == "caption"]
        engines = [m["target"]["engine"] for m in captions if m["final"] and m["target"]["text"]]
        assert set(engines) <= {"gemma", "marian"}
        assert engines.count("gemma") > len(engines) / 2
        assert any(not m["final"] for m in captions)
        assert messages[-1]["state"] == "ended"
        for name in ("transcript.en.txt", "transcript.es.srt", "transcript.es.vtt"):
            assert (program.folder / name).stat().st_size > 500
        utterances = program.records()
        ids = [r["id"] for r in utterances]
        assert ids == list(range(1, len(ids) + 1)), "each utterance: a final or a reason"
        assert {r["id"] for r in utterances if not r["filtered"]} <= set(journal)
        for message in messages:
            assert problems(f"messages/{message['type']}", message) == [], message
        for kind in ("utterance", "health", "event", "summary"):
            for record in program.records(kind):
                assert problems(f"records/{kind}", record) == [], record
        dropped = program.records("health")[-1]["dropped"]
        assert (dropped["blocks"], dropped["records"], dropped["drafts"]) == (0, 0, 0)


def test_a_missing_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "/nowhere/model"}
    arguments = ("run", "--port", "0", "--input", str(SERMON))
    done = told(capsys, *arguments, cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "[model-missing]" in done.stderr


def test_a_session_folder_that_cannot_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    arguments = ("run", "--port", "0", "--sessions", "file", "--input", str(SERMON))
    done = told(capsys, *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "[session-unwritable]" in done.stderr


def test_a_broken_gemma_leaves_marian(tmp_path: Path) -> None:
    """In a dry run the audience sees a stand-by notice and no caption."""
    mono, rate = soundfile.read(SERMON, frames=16_000 * 40, dtype="float32")
    # Only the second channel has a voice.
    soundfile.write(tmp_path / "a.wav", np.stack([np.zeros_like(mono), mono], axis=1), rate)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1000))
    env = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": str(broken)}
    arguments = ("dry-run", "--input", "a.wav", "--channel", "2", "--pace", "fast")
    with started(*arguments, cwd=tmp_path, **env) as program:
        messages = asyncio.run(watch(program))
        assert program.end() == 0
        assert messages[0]["mode"] == "dry-run"
        assert [m for m in messages if m["type"] == "caption"] == []
        assert len(program.records()) >= 6, "the second channel is heard"
        assert {m["target"]["engine"] for m in program.journal()} == {"marian"}
        assert any(e.get("code") == "model-broken" for e in program.records("event"))


def test_two_daemons_share_a_session_directory(tmp_path: Path) -> None:
    """Two interrupts end one at once; a single signal ends the other, which loses nothing."""
    run = ("run", "--input", str(SERMON), "--sessions", "both")
    with started(*run, cwd=tmp_path, **TINY) as one, started(*run, cwd=tmp_path, **TINY) as two:
        assert one.folder != two.folder
        two.wait_for("ready")
        two.process.send_signal(signal.SIGINT)
        two.process.send_signal(signal.SIGINT)
        assert two.end(60) in {0, 1}
        one.wait_for("caption")
        before_s = one.health()["audio_s"]
        assert one.stop(signal.SIGINT) == 0
        # Nothing said before the signal is missing: the last caption reaches up to it.
        assert one.journal()[-1]["end_s"] > before_s - 8
        end = one.records("event")[-1]
        assert (end["event"], end["unfinished"]) == ("end", 0)
        assert end["audio_s"] > before_s - 0.1  # health() rounds it
