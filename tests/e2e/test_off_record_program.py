"""The real program, killed just after an operator goes off the record: the words stay deleted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.sync.client import ClientConnection, connect

from scripts.support.program import SERMON, Program, started

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def until(socket: ClientConnection, kind: str, **fields: Any) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = orjson.loads(socket.recv(timeout=90))
        if message["type"] == kind and all(message[key] == fields[key] for key in fields):
            return message


def send(socket: ClientConnection, **message: Any) -> None:
    socket.send(orjson.dumps(message).decode())


@contextmanager
def coordinator(program: Program, directory: Path) -> Iterator[ClientConnection]:
    with connect(program.socket("?kind=operator")) as socket:
        token = (directory / "sessions" / "operator-token").read_text().strip()
        send(socket, type="auth", token=token)
        yield socket


def written(folder: Path, words: bytes) -> list[str]:
    """Return the names of the files that contain these words."""
    while True:
        # The program may replace a file meanwhile: then look at all of them again.
        with suppress(FileNotFoundError):
            return [path.name for path in folder.iterdir() if words in path.read_bytes()]


def history(program: Program) -> list[dict[str, Any]]:
    with connect(program.socket()) as socket:
        return list(until(socket, "hello")["captions"])


def test_killed_right_after_it_the_words_are_gone_for_ever(tmp_path: Path) -> None:
    run = ("run", "--input", str(SERMON))
    tiny = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny"}
    with started(*run, cwd=tmp_path, **tiny) as program:
        program.wait_for("ready")
        with coordinator(program, tmp_path) as socket:
            finals = [until(socket, "caption", final=True) for _ in range(3)]
            said = [text for each in finals for text in (each["source"], each["target"])]
            secrets = [each["text"].encode() for each in said]
            folder = program.folder
            program.until(lambda: all(written(folder, secret) for secret in secrets))
            send(socket, type="command", name="off-record")
            assert until(socket, "done", name="off-record")["off_record"]
            program.process.send_signal(signal.SIGKILL)
        program.end()

    with started(*run, cwd=tmp_path, **tiny) as program:
        program.wait_for("ready")
        assert program.folder == folder
        assert history(program) == []
        assert program.health()["reason"] == "off the record"
        with coordinator(program, tmp_path) as socket:
            assert until(socket, "console")["off_record"]
            assert [secret for secret in secrets if written(folder, secret)] == []
            send(socket, type="command", name="on-record")
            until(socket, "caption", final=True)
        assert program.stop() == 0
    words = " ".join(str(line) for line in program.log)
    assert not [secret for secret in secrets if secret.decode() in words]
