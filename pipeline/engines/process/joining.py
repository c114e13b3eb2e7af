"""How a process of ours and its parent are joined: a socket between them, and what it prints.

Where a process can inherit a socket (Linux, macOS) it does. On Windows it cannot, and a pipe cannot
be waited for: there the socket is one of this machine alone, which the child opens with a secret
from its environment, and a thread carries what it prints from the pipe to another socket.
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

# Python for Windows does not have it.
_INHERITS: Final = hasattr(socket, "AF_UNIX")
_SECRET: Final = "STARK_ENGINE_SECRET"  # noqa: S105 - the variable's name
_SECRET_BYTES: Final = 32
_START_S: Final = 60.0
"""Seconds that Python may take to start before its process counts as dead; Windows looks at each
file of it for viruses."""
_SLICE_S: Final = 0.25
_WAITING: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)
"""Not select() where there is another: descriptors of a daemon with many displays are high."""


def start(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket, io.RawIOBase]:
    """Start a process; return it, our end of the socket, and what it prints.

    It finds in its last argument how to `join`. Raises OSError.
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
        # The child has a copy: while this one is open, its death is no end of the socket.
        its.close()
    return process, ours, _printed(process)


def join(how: str) -> socket.socket:
    """Return the child's end of the socket, by the last argument that it was started with."""
    port, _, number = how.rpartition(":")
    if not port:
        return socket.socket(fileno=int(number))
    end = socket.create_connection(("127.0.0.1", int(number)))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Taken out of the environment, which programs that an engine starts inherit.
    end.sendall(bytes.fromhex(os.environ.pop(_SECRET)))
    return end


def readable(timeout_s: float, *descriptors: int) -> set[int]:
    """Return those of which something, or the end, can be read within `timeout_s`."""
    with _WAITING() as waiting:
        for each in descriptors:
            waiting.register(each, selectors.EVENT_READ)
        return {key.fd for key, _ in waiting.select(timeout_s)}


def _popen(
    command: Sequence[str], environment: Mapping[str, str], inherited: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this Python, and words of our own
        command,
        # A library that asks a question must find an end, not the daemon's terminal.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # One pipe for both keeps the lines in their order.
        stderr=subprocess.STDOUT,
        # It is waited for and read by its descriptor: no buffer may stand in between.
        bufsize=0,
        pass_fds=inherited,
        env=environment,
        **APART,
    )


def _start_alone(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket, io.RawIOBase]:
    # Any program of this machine can connect to the port: the secret shows which is the child.
    secret = secrets.token_bytes(_SECRET_BYTES)
    with socket.create_server(("127.0.0.1", 0)) as door:
        how = f"port:{door.getsockname()[1]}"
        # In the environment: other users of the machine can read a command line.
        process = _popen([*command, how], {**environment, _SECRET: secret.hex()})
        ours = _accepted(door, process, secret)
    here, there = socket.socketpair()
    pipe = _printed(process)

    def carry() -> None:
        with there, pipe, suppress(OSError):  # nobody reads any more
            # Without a buffer it returns what is there, and a line comes as soon as it is written.
            while piece := pipe.read(1 << 16):
                there.sendall(piece)

    Thread(carry, "engine output").start()
    with here:  # what is made of it keeps it open
        return process, ours, here.makefile("rb", buffering=0)


def _accepted(
    door: socket.socket, process: subprocess.Popen[bytes], secret: bytes
) -> socket.socket:
    """Return the connection that brings the secret; one that is over if the process dies first."""
    give_up_s = time.monotonic() + _START_S
    # In slices: a child that dies before it connects is noticed.
    door.settimeout(_SLICE_S)
    while process.poll() is None and time.monotonic() < give_up_s:
        with suppress(OSError):
            end, _ = door.accept()
            end.settimeout(_SLICE_S)
            # Else a message waits until the one before it is acknowledged: 40 ms.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(OSError):
                # In constant time: how long it takes must not tell how much of a guess is right.
                if hmac.compare_digest(end.recv(_SECRET_BYTES, socket.MSG_WAITALL), secret):
                    return end
            end.close()
    process.kill()
    ours, its = socket.socketpair()
    its.close()
    return ours


def _printed(process: subprocess.Popen[bytes]) -> io.RawIOBase:
    pipe: IO[bytes] | None = process.stdout
    assert isinstance(pipe, io.RawIOBase)  # noqa: S101 - it was asked for, without a buffer
    return pipe
