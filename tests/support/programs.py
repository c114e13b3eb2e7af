"""Stand-ins for programs and servers on the churches' machines."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from pathlib import Path

import pytest


@contextmanager
def answering(server: HTTPServer) -> Iterator[str]:
    """Run a server in its own thread; yield its address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def put_program(folder: Path, script: str, patch: pytest.MonkeyPatch, *names: str) -> None:
    """Put this shell script first on PATH, under each of these names."""
    for name in names or ("nvidia-smi",):
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
