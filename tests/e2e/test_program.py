"""The real program, the real starter models, a real socket, real signals."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from websockets.asyncio.client import connect

from scripts.support.program import SERMON, Program, call, started
from tests.support.schemas import problems

pytestmark = pytest.mark.slow


async def watch(program: Program, query: str = "") -> list[dict[str, Any]]:
    """Return every message of one connection, to its end."""
    async with connect(program.socket(query)) as display:
        return [orjson.loads(raw) async for raw in display]


def test_a_recording_becomes_captions_on_a_display_and_files(tmp_path: Path) -> None:
    with started("run", "--input", str(SERMON), "--pace", "fast", cwd=tmp_path) as program:
        messages = asyncio.run(watch(program, "?lang=es&kind=projector"))
        assert program.end() == 0
        captions = [m for m in messages if m["type"] == "caption"]
        finals = {m["id"]: m for m in captions if m["final"] and m["target"]["text"]}
        journal = {m["id"]: m for m in program.journal()}
        assert {i: m["target"]["text"] for i, m in finals.items()} == {
            i: m["target"]["text"] for i, m in journal.items() if m["target"]["text"]
        }
        assert len(finals) >= 30
        assert {m["target"]["engine"] for m in finals.values()} <= {"gemma", "marian"}
        assert any(not m["final"] for m in captions)
        assert messages[-1]["state"] == "ended"
        for name in ("transcript.en.txt", "transcript.es.srt", "transcript.es.vtt"):
            assert (program.folder / name).stat().st_size > 500
        utterances = program.records()
        assert len(utterances) >= len(finals)
        for message in messages:
            assert problems(f"messages/{message['type']}", message) == [], message
        for kind in ("utterance", "health", "event", "summary"):
            for record in program.records(kind):
                assert problems(f"records/{kind}", record) == [], record
        dropped = program.records("health")[-1]["dropped"]
        assert (dropped["blocks"], dropped["records"], dropped["drafts"]) == (0, 0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_loses_nothing(tmp_path: Path, number: int) -> None:
    with started("run", "--input", str(SERMON), cwd=tmp_path) as program:
        program.until(lambda: any(r for r in program.log if r.get("event") == "caption"), 90)
        before = program.health()["audio_s"]
        assert program.stop(number) == 0
        journal = program.journal()
        assert journal
        # What was said until then is there: the last caption reaches up to the signal.
        assert journal[-1]["end_s"] > before - 8
        end = program.records("event")[-1]
        assert (end["event"], end["unfinished"]) == ("end", 0)
        assert end["audio_s"] > before - 0.1  # health rounds


def test_a_signal_while_models_load_ends_it_cleanly_and_leaves_no_session(tmp_path: Path) -> None:
    soon = {"STARK_TRANSLATE__SESSION__DRAIN_S": "0.5"}  # they may be at it still at the end
    with started("run", "--input", str(SERMON), cwd=tmp_path, **soon) as program:
        program.wait_for("serving")
        assert program.stop() == 0
        is_ready = any(line["event"] == "ready" for line in program.log)
        assert (tmp_path / program.folder).exists() == is_ready
        assert program.log[-1]["event"] == ("session kept" if is_ready else "session removed")


def test_two_signals_end_it_at_once(tmp_path: Path) -> None:
    with started("run", "--input", str(SERMON), cwd=tmp_path) as program:
        program.wait_for("ready")
        program.process.send_signal(signal.SIGINT)
        program.process.send_signal(signal.SIGINT)
        assert program.end(30) in {0, 1}


def test_killed_it_has_every_final_that_a_display_showed(tmp_path: Path) -> None:
    async def until_three(program: Program) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        async with connect(program.socket()) as display:
            async for raw in display:
                message = orjson.loads(raw)
                if message["type"] == "caption" and message["final"]:
                    shown.append(message)
                if len(shown) == 3:
                    await asyncio.sleep(0.2)
                    program.process.kill()
                    return shown
        return shown

    with started("run", "--input", str(SERMON), cwd=tmp_path) as program:
        shown = asyncio.run(until_three(program))
        program.end()
        kept = {(m["id"], m["target"]["text"]) for m in program.journal()}
        assert {(m["id"], m["target"]["text"]) for m in shown} <= kept


def test_a_dry_run_tells_the_audience_to_stand_by(tmp_path: Path) -> None:
    with started("dry-run", "--input", str(SERMON), "--pace", "fast", cwd=tmp_path) as program:
        messages = asyncio.run(watch(program))
        assert program.end() == 0
        assert messages[0]["mode"] == "dry-run"
        assert [m for m in messages if m["type"] == "caption"] == []
        assert len(program.journal()) >= 30


@pytest.mark.parametrize("engine", ["gemma", "marian"])
def test_one_variable_rolls_the_final_engine_back(tmp_path: Path, engine: str) -> None:
    env = {
        "STARK_TRANSLATE__TRANSLATE__FINAL__ENGINE": engine,
        # At this pace a busy machine falls behind with a larger one, and makes no more of them.
        "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny" if engine == "gemma" else "starter",
    }
    arguments = ("run", "--input", str(SERMON), "--pace", "fast")
    with started(*arguments, cwd=tmp_path, **env) as program:
        assert program.end() == 0
        engines = [m["target"]["engine"] for m in program.journal()]
        assert engines.count(engine) > len(engines) / 2


class TestRefusals:
    """What cannot work says so in one sentence with a code, and ends with the right exit code."""

    def refused(self, tmp_path: Path, *arguments: str, code: int, says: str, **env: str) -> None:
        done = call(*arguments, cwd=tmp_path, env=env)
        assert done.returncode == code, done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr

    def test_wrong_settings(self, tmp_path: Path) -> None:
        file = tmp_path / "church.toml"
        file.write_text("[audio]\ndevise = 1\n")
        self.refused(
            tmp_path, "run", "--config", str(file), code=78, says="Did you mean audio.device?"
        )

    def test_no_such_device(self, tmp_path: Path) -> None:
        self.refused(
            tmp_path, "run", "--port", "0", "--device", "no such thing", code=1, says="audio-"
        )

    def test_no_such_file(self, tmp_path: Path) -> None:
        self.refused(
            tmp_path, "run", "--port", "0", "--input", "nowhere.wav", code=1, says="audio-missing"
        )

    def test_not_audio(self, tmp_path: Path) -> None:
        (tmp_path / "text.wav").write_text("hello")
        self.refused(
            tmp_path, "run", "--port", "0", "--input", "text.wav", code=1, says="audio-unreadable"
        )

    @pytest.mark.parametrize("key", ["STT", "TRANSLATE__PARTIAL", "TRANSLATE__FINAL"])
    def test_a_missing_model(self, tmp_path: Path, key: str) -> None:
        env = {f"STARK_TRANSLATE__{key}__MODEL": "/nowhere/model"}
        arguments = ("run", "--port", "0", "--input", str(SERMON))
        self.refused(tmp_path, *arguments, code=1, says="model-missing", **env)

    def test_a_taken_port(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            self.refused(
                tmp_path, "run", "--port", port, "--input", str(SERMON), code=1, says="port-in-use"
            )

    def test_a_session_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        arguments = ("run", "--sessions", "file", "--input", str(SERMON))
        self.refused(tmp_path, *arguments, code=1, says="session-unwritable")

    def test_wrong_usage(self, tmp_path: Path) -> None:
        self.refused(tmp_path, "sing", code=2, says="invalid choice")


def test_a_broken_gemma_leaves_marian(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1000))
    env = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": str(broken)}
    arguments = ("run", "--input", str(SERMON), "--pace", "fast")
    with started(*arguments, cwd=tmp_path, **env) as program:
        assert program.end() == 0
        assert {m["target"]["engine"] for m in program.journal()} == {"marian"}
        assert any(e.get("code") == "model-broken" for e in program.records("event"))


def test_a_stereo_recording_is_heard_on_the_chosen_channel(tmp_path: Path) -> None:
    mono, rate = soundfile.read(SERMON, frames=16000 * 18, dtype="float32")
    soundfile.write(tmp_path / "left-dead.wav", np.stack([np.zeros_like(mono), mono], axis=1), rate)
    heard = {}
    for channel in ("1", "2"):
        arguments = ("run", "--input", "left-dead.wav", "--pace", "fast", "--channel", channel)
        with started(*arguments, cwd=tmp_path) as program:
            assert program.end() == 0
            heard[channel] = len(program.records())
    assert heard["1"] == 0
    assert heard["2"] >= 4


def test_the_demo_scores_itself_and_misses_no_sentence(tmp_path: Path) -> None:
    flags = ("--starter", "--fast", "--details", "--port", "0")
    done = call("demo", *flags, cwd=tmp_path, timeout_s=280)
    assert done.returncode == 0, done.stderr
    assert "WER" in done.stdout
    assert "chrF" in done.stdout
    (line,) = [s for s in done.stdout.splitlines() if "sentences without a final" in s]
    assert line.replace("│", " ").split()[-1] == "0"
    assert len(list((tmp_path / "sessions").glob("2*/captions.jsonl"))) == 1


@pytest.mark.timeout(900)
def test_half_an_hour_with_two_hundred_displays_loses_no_final(tmp_path: Path) -> None:
    """The sermon in a loop, accelerated, 200 displays of which 20 never read."""
    good, dead = 180, 20

    async def display(program: Program, started_: asyncio.Event) -> dict[int, str]:
        shown: dict[int, str] = {}
        async with connect(program.socket(), compression=None) as connection:
            started_.set()
            async for raw in connection:
                message = orjson.loads(raw)
                for caption in message.get("captions", [message]):
                    if caption.get("type") == "caption" and caption["final"]:
                        shown[caption["id"]] = caption["target"]["text"]
        return shown

    def never_reads(program: Program) -> socket.socket:
        host, port = program.address.removeprefix("http://").split(":")
        deaf = socket.create_connection((host, int(port)))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(
            f"GET /ws HTTP/1.1\r\nHost: {host}:{port}\r\n".encode()
            + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        return deaf

    async def attend(program: Program) -> list[dict[int, str]]:
        events = [asyncio.Event() for _ in range(good)]
        tasks = [asyncio.create_task(display(program, event)) for event in events]
        await asyncio.gather(*(event.wait() for event in events))
        deaf = [never_reads(program) for _ in range(dead)]
        while (await asyncio.to_thread(program.health))["audio_s"] < 1800:
            await asyncio.sleep(1)
        program.process.send_signal(signal.SIGTERM)
        shown = await asyncio.gather(*tasks)
        for connection in deaf:
            connection.close()
        return shown

    with started("demo", "--starter", "--fast", "--loop", cwd=tmp_path) as program:
        began = time.monotonic()
        shown = asyncio.run(attend(program))
        assert program.end() == 0
        journal = {m["id"]: m["target"]["text"] for m in program.journal()}
        utterances = program.records()
        assert [r["id"] for r in utterances] == sorted(r["id"] for r in utterances)
        ids = {r["id"] for r in utterances}
        assert ids == set(range(1, max(ids) + 1))  # each utterance: a final or a reason
        assert {r["id"] for r in utterances if not r["filtered"]} <= set(journal)
        assert len(journal) > 350
        for one in shown:
            assert one == journal
        print(f"{len(ids)} utterances in {time.monotonic() - began:.0f} s")


def test_two_daemons_share_a_session_directory(tmp_path: Path) -> None:
    arguments = ("run", "--input", str(SERMON), "--sessions", "both")
    with started(*arguments, cwd=tmp_path) as one, started(*arguments, cwd=tmp_path) as two:
        assert one.folder != two.folder
        one.wait_for("ready")
        two.wait_for("ready")
        assert one.stop() == 0
        assert two.stop() == 0
