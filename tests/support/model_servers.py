"""Servers of models: real ones, and one on a real socket that answers as badly as a test wants."""

from __future__ import annotations

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

from tests.support.needs import needs_module

MODEL = "starter"
STARTS_S = 120.0

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as its server is told to."""

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
    """Takes its answers in turn, the last one again and again."""

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
        """The bodies of the completions that were asked for."""
        return [orjson.loads(body) for _, _, body in self.seen if body]

    def turn(self) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def handle_error(self, *_: object) -> None:
        """A client that has gone is what many tests are about."""


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
    """Write these and then nothing, until the test ends or the client goes."""

    def answer(handler: Handler) -> None:
        handler.begin_stream()
        with suppress(OSError):  # the client's end, which may come before all is written
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
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@contextmanager
def real_server(
    folder: Path, *, key_file: str = "", name: str = MODEL
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run llama-cpp-python's own server with the starter model, as `serve-model` starts it.

    Yields its address and its process.
    """
    needs_module("fastapi", "uvicorn", "sse_starlette", "starlette_context", "yaml")
    # Here: they cost quick tests, which need none of it, a quarter of a second.
    from pipeline.cli.commands.serve_model import Served, llama_cpp_server
    from pipeline.config.schema import Final
    from pipeline.models.resolve import resolve

    port = free_port()
    served = Served(
        model=resolve("gemma", "tiny"),
        name=name,
        final=Final(),
        host="127.0.0.1",
        port=port,
        rooms=1,
        key_file=key_file,
    )
    command = llama_cpp_server(served)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *command.arguments[1:]],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **command.environment},
        )
    try:
        _await(port, process, folder / "server.log")
        yield f"http://127.0.0.1:{port}/v1", process
    finally:
        process.kill()
        process.wait()


@contextmanager
def real_llama_server(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run llama.cpp's own server, which the wheel `xllamacpp` brings, with the starter model.

    Yields its address and its process.
    """
    needs_module("xllamacpp")
    from pipeline.models.resolve import resolve

    port = free_port()
    arguments = (str(resolve("gemma", "tiny")), str(port), MODEL)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _LLAMA_SERVER, *arguments], stdout=log, stderr=log
        )
    try:
        _await(port, process, folder / "server.log", "health")
        yield f"http://127.0.0.1:{port}/v1", process
    finally:
        process.kill()
        process.wait()


_LLAMA_SERVER = """
import signal, sys, xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.port, asked.model_alias = sys.argv[1], int(sys.argv[2]), {sys.argv[3]}
asked.n_ctx, asked.n_parallel, asked.swa_full = 4096, 2, True
server = xllamacpp.Server(asked)
signal.pause()
"""


def _await(
    port: int, process: subprocess.Popen[bytes], log: Path, path: str = "openapi.json"
) -> None:
    until_s = time.monotonic() + STARTS_S
    while time.monotonic() < until_s:
        assert process.poll() is None, log.read_text()[-2000:]
        with suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5).close()
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])
