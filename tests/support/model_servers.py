"""Model servers: real ones, and a scripted one whose answers are as bad as a test wants."""

from __future__ import annotations

import shlex
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from pipeline.models.resolve import resolve
from scripts.support import nats_server
from tests.support.needs import needs_module
from tests.support.paths import ROOT
from tests.support.programs import answering

MODEL = "starter"
STARTS_S = 120.0
free_port = nats_server.free_port

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as its server's script says."""

    protocol_version = "HTTP/1.1"
    server: ScriptedServer
    request_body: bytes = b""

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers), b""))
        self.server.models(self)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.request_body = body
        self.server.seen.append((self.path, dict(self.headers), body))
        self.server.turn()(self)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, **fields: Any) -> None:
        self.chunk(b"data: " + orjson.dumps(fields) + b"\n\n")

    def piece(self, text: str, finish: str | None = None, **fields: Any) -> None:
        self.event(choices=[{"text": text, "index": 0, "finish_reason": finish}], **fields)

    def end_stream(self) -> None:
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")


class ScriptedServer(ThreadingHTTPServer):
    """Gives its answers in turn and repeats the last one."""

    daemon_threads = True

    def __init__(self, answers: list[Answer], models: Answer | None, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self._answers = answers
        self.models = models or serves(MODEL)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.ended = threading.Event()
        """Set at the test's end, for answers that wait."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Return the bodies of the completion requests."""
        return [orjson.loads(body) for _, _, body in self.seen if body]

    def turn(self) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def handle_error(self, *_: object) -> None:
        """Ignore the error: in many tests the client disconnects on purpose."""


def go_on() -> None:
    """Go on, as a check of whether the caller still wants the answer."""


def serves(*names: str) -> Answer:
    listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
    return lambda handler: handler.send(200, "application/json", orjson.dumps(listed))


def says(*pieces: str, finish: str = "stop", **fields: Any) -> Answer:
    """Answer with these pieces of text."""

    def answer(handler: Handler) -> None:
        handler.begin_stream()
        for piece in pieces:
            handler.piece(piece, **fields)
        handler.piece("", finish, **fields)
        handler.event(choices=[], usage={"prompt_tokens": 11, "completion_tokens": len(pieces)})
        handler.end_stream()

    return answer


def answers(status: int, body: bytes, kind: str = "application/json") -> Answer:
    return lambda handler: handler.send(status, kind, body)


def stalls(*pieces: str) -> Answer:
    """Write these and then nothing, until the test ends or the client disconnects."""

    def answer(handler: Handler) -> None:
        handler.begin_stream()
        with suppress(OSError):  # the client may disconnect before all is written
            for piece in pieces:
                handler.piece(piece)
            handler.connection.settimeout(30)
            handler.connection.recv(1)
        handler.server.ended.set()
        handler.close_connection = True

    return answer


def breaks_off(*pieces: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.begin_stream()
        for piece in pieces:
            handler.piece(piece)
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    return answer


@contextmanager
def scripted(
    *turns: Answer,
    models: Answer | None = None,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
) -> Iterator[ScriptedServer]:
    """Run a server that answers with `turns`."""
    server = ScriptedServer(list(turns) or [says("Amén.")], models, port)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with answering(server):
        yield server


@contextmanager
def real_server(
    folder: Path, *, key: str = "", name: str = MODEL
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run llama-cpp-python's own server with the starter model; it answers one room at a time.

    Yields its address and its process.
    """
    needs_module("fastapi", "uvicorn", "sse_starlette", "starlette_context", "yaml")
    options = {
        "model": resolve("gemma", "tiny"),
        "model_alias": name,
        "n_ctx": 2048,
        "interrupt_requests": "false",
    }
    arguments = [f"--{option}={value}" for option, value in options.items()]
    key_of = {"API_KEY": key} if key else {}
    with _serving(folder, ["-c", _LLAMA_CPP_SERVER, *arguments], free_port(), **key_of) as served:
        yield served


@contextmanager
def real_llama_server(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the server that `serve-model` starts, llama.cpp's own, with the starter model.

    Yields its address and its process.
    """
    needs_module("xllamacpp")
    port = free_port()
    asked = ["serve-model", "--model", "tiny", "--rooms", "2", "--threads", "1", "--show"]
    shown = subprocess.check_output(
        [sys.executable, "-m", "pipeline", *asked, "--port", str(port)], cwd=ROOT, text=True
    )
    # Requests name it as those to the other server do.
    command = shlex.split(shown.replace("--alias tiny", f"--alias {MODEL}"))
    with _serving(folder, command[1:], port, path="health") as running:
        yield running


@contextmanager
def serve_model(folder: Path, *options: str) -> Iterator[str]:
    """Run `stark-translate serve-model` with the starter model; yield the server's address."""
    needs_module("xllamacpp")
    port = free_port()
    asked = ["-m", "pipeline", "serve-model", "--model", "tiny", "--port", str(port), *options]
    with _serving(folder, asked, port, path="health") as (url, _):
        yield url


# As `python -m llama_cpp.server`, which chooses no kernels where they are separate files.
_LLAMA_CPP_SERVER = """
from pipeline.engines.llama_cpp.llama import load_kernels
load_kernels()
from llama_cpp.server.__main__ import main
main()
"""


@contextmanager
def _serving(
    folder: Path, arguments: list[str], port: int, path: str = "openapi.json", **more: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    log = folder / "server.log"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    env |= {"HOST": "127.0.0.1", "PORT": str(port), **more}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=out, stderr=out, env=env, cwd=folder
        )
    try:
        _await(port, process, log, path)
        yield f"http://127.0.0.1:{port}/v1", process
    finally:
        process.kill()
        process.wait()


def _await(port: int, process: subprocess.Popen[bytes], log: Path, path: str) -> None:
    until_s = time.monotonic() + STARTS_S
    while time.monotonic() < until_s:
        assert process.poll() is None, log.read_text()[-2000:]
        with suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5).close()
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])
