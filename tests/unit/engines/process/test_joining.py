"""A process connects to its parent, whether or not it can inherit a socket."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence

import pytest

from pipeline.engines.process import joining

pytestmark = pytest.mark.slow

ECHO = """
import sys
from pipeline.engines.process.joining import join
print("printed", flush=True)
end = join(sys.argv[1])
end.sendall(end.recv(100))
end.close()
"""


def exchange(command: Sequence[str]) -> tuple[bytes, bytes]:
    """Return what an echoing child has sent and printed."""
    process, ours, output = joining.start(command, os.environ)
    ours.settimeout(30)
    ours.sendall(b"hello")
    answer = ours.recv(100)
    printed = b""
    while joining.readable(30, output.fileno()) and (piece := output.read(100)):
        printed += piece
    process.wait(30)
    ours.close()
    output.close()
    return answer, printed


@pytest.mark.parametrize("inherits", [True, False])
def test_it_hears_and_prints(monkeypatch: pytest.MonkeyPatch, inherits: bool) -> None:
    monkeypatch.setattr(joining, "_INHERITS", inherits)
    assert exchange([sys.executable, "-c", ECHO]) == (b"hello", b"printed\n")


def test_who_does_not_know_the_secret_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program of this machine connects first: the child still gets its connection."""
    monkeypatch.setattr(joining, "_INHERITS", False)
    strangers: list[socket.socket] = []
    accepted = joining._accepted

    def with_stranger(door: socket.socket, *rest: object) -> socket.socket:
        stranger = socket.create_connection(door.getsockname())
        strangers.append(stranger)
        stranger.sendall(bytes(32))
        return accepted(door, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(joining, "_accepted", with_stranger)
    assert exchange([sys.executable, "-c", ECHO])[0] == b"hello"
    strangers[0].settimeout(10)
    assert strangers[0].recv(1) == b""
    strangers[0].close()


def test_one_that_dies_at_once_reads_as_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_INHERITS", False)
    process, ours, output = joining.start([sys.executable, "-c", "print('no')"], os.environ)
    assert ours.recv(1) == b""
    assert output.read(100) == b"no\n"
    assert process.wait() == 0
    ours.close()
    output.close()
