"""Connect a child process with its parent: a socket between them, and the child's output.

On Linux and macOS the child inherits the socket. On Windows it cannot, and a pipe cannot be waited
for: there the child connects to a local socket with a secret from its environment, and a thread
copies its output from the pipe to another socket.
"""

from __future__ import annotations

import hmac
import io
import os
import secrets
import selectors
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from pipeline.core.processes import APART
from pipeline.core.threads import Thread

# Python for Windows lacks AF_UNIX.
_INHERITS: Final = hasattr(socket, "AF_UNIX")
_SECRET: Final = "STARK_ENGINE_SECRET"  # noqa: S105 - the variable's name
_SECRET_BYTES: Final = 32
_START_S: Final = 60.0
"""Seconds that Python may take to start before its process counts as dead; Windows scans each of
its files for viruses."""
_SLICE_S: Final = 0.25
_WAITING: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)
"""Avoid select() if possible: a daemon with many displays has high descriptor numbers."""


def start(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket, io.RawIOBase]:
    """Start a process; return it, our end of the socket, and its output.

    The child passes its last argument to `join`. Raises OSError.
    """
    if not _INHERITS:
        return _start_alone(command, environment)
    ours, its = socket.socketpair()
    try:
        process = _popen([*command, str(its.fileno())], environment, inherited=(its.fileno(),))
    except OSError:
        ours.close()
        raise
    finally:
        # The child has a copy: while ours is open, the child's death does not end the socket.
        its.close()
    return process, ours, _printed(process)


def join(how: str) -> socket.socket:
    """Return the child's end of the socket, from the last argument of its command line."""
    port, _, number = how.rpartition(":")
    if not port:
        return socket.socket(fileno=int(number))
    end = socket.create_connection(("127.0.0.1", int(number)))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Remove the secret from the environment, which an engine's child processes inherit.
    end.sendall(bytes.fromhex(os.environ.pop(_SECRET)))
    return end


def readable(timeout_s: float, *descriptors: int) -> set[int]:
    """Return the descriptors that have data or have ended within `timeout_s`."""
    with _WAITING() as waiting:
        for each in descriptors:
            waiting.register(each, selectors.EVENT_READ)
        return {key.fd for key, _ in waiting.select(timeout_s)}


def _popen(
    command: Sequence[str], environment: Mapping[str, str], inherited: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this Python, and words of our own
        command,
        # A library that reads input must get EOF, not the daemon's terminal.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # One pipe for both streams keeps the order of the lines.
        stderr=subprocess.STDOUT,
        # The pipe is polled and read by its descriptor, so it must have no buffer.
        bufsize=0,
        pass_fds=inherited,
        env=environment,
        **APART,
    )


def _start_alone(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket, io.RawIOBase]:
    # Any local program can connect to the port: the secret identifies the child.
    secret = secrets.token_bytes(_SECRET_BYTES)
    with socket.create_server(("127.0.0.1", 0)) as door:
        how = f"port:{door.getsockname()[1]}"
        # In the environment, since other users of the machine can read a command line.
        process = _popen([*command, how], {**environment, _SECRET: secret.hex()})
        ours = _accepted(door, process, secret)
    here, there = socket.socketpair()
    pipe = _printed(process)

    def carry() -> None:
        with there, pipe, suppress(OSError):  # the reader is gone
            # Without a buffer, `read` returns the available bytes, so each line arrives at once.
            while piece := pipe.read(1 << 16):
                there.sendall(piece)

    Thread(carry, "engine output").start()
    with here:  # the file made from it keeps the socket open
        return process, ours, here.makefile("rb", buffering=0)


def _accepted(
    door: socket.socket, process: subprocess.Popen[bytes], secret: bytes
) -> socket.socket:
    """Return the connection that sends the secret; a closed one if the process dies first."""
    give_up_s = time.monotonic() + _START_S
    # In slices, to notice a child that dies before it connects.
    door.settimeout(_SLICE_S)
    while process.poll() is None and time.monotonic() < give_up_s:
        with suppress(OSError):
            end, _ = door.accept()
            end.settimeout(_SLICE_S)
            # Without TCP_NODELAY, a message waits for the acknowledgement of the last one: 40 ms.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(OSError):
                # In constant time: the duration must not reveal how much of a guess is right.
                if hmac.compare_digest(end.recv(_SECRET_BYTES, socket.MSG_WAITALL), secret):
                    return end
            end.close()
    process.kill()
    ours, its = socket.socketpair()
    its.close()
    return ours


def _printed(process: subprocess.Popen[bytes]) -> io.RawIOBase:
    pipe: IO[bytes] | None = process.stdout
    assert isinstance(pipe, io.RawIOBase)  # noqa: S101 - `_popen` requests an unbuffered pipe
    return pipe
