"""Run a function of this program in its own process, with limits of time, memory and answer size.

All readers of foreign files (notes, Bibles, recordings) run here. Such a file can make its reader
slow, use much memory or crash it, and the captions must not suffer.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, get_type_hints

import structlog
from pydantic import TypeAdapter

from pipeline.core import errors
from pipeline.core.errors import StarkError
from pipeline.core.formats import human_size
from pipeline.core.processes import APART, lower_priority, own_environment, own_python

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")

# numpy starts one thread for each core, and each takes 40 MB of address space.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_NICENESS = 10
_DEATH_S = 5.0
"""The wait for a killed process: after that it hangs in the kernel."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a call."""

    seconds: float
    """The limit of wall time, and of processor time."""
    memory_bytes: int
    answer_bytes: int = 64 << 20


async def call(
    limits: Limits,
    failed: Callable[[str], StarkError],
    function: Callable[P, T],
    *arguments: P.args,
    **options: P.kwargs,
) -> T:
    """Run a function of a module in a new process, return its result. A cancelled call kills it.

    The answer travels as JSON and is checked by the function's annotation; sets and dataclasses
    are allowed. Raises the StarkError that the function raises, and for everything else
    `failed(what)`, where `what` is the rest of a sentence that begins with the file's name.
    """
    # Pickle in this direction only: data from a foreign file is never unpickled here.
    request = pickle.dumps((limits, function, arguments, options))
    try:
        process = await asyncio.create_subprocess_exec(
            *own_python(__name__),
            stdin=PIPE,
            stdout=PIPE,
            # Nobody would read it, and a full pipe blocks the process that writes into it.
            stderr=DEVNULL,
            env=own_environment() | _ONE_THREAD,
            **APART,
        )
    except OSError as error:
        raise failed(f"cannot be read now: {error.strerror}") from None
    try:
        # In addition to the child's limit of processor time, which a waiting reader never reaches.
        async with asyncio.timeout(limits.seconds):
            answer = await _exchange(process, request, limits.answer_bytes)
            status = await process.wait() if answer is not None else 0
    except TimeoutError:
        raise failed(_too_slow(limits)) from None
    finally:
        await _end(process)
    if answer is None:
        raise failed(f"has more than {human_size(limits.answer_bytes)} of content")
    value: T = _value(answer, status, limits, failed, get_type_hints(function)["return"])
    return value


async def _exchange(process: Process, request: bytes, most_bytes: int) -> bytes | None:
    """Return the answer to a request, None if it is longer than `most_bytes`."""
    assert process.stdin is not None  # noqa: S101 - both were asked for
    assert process.stdout is not None  # noqa: S101
    with suppress(ConnectionError):  # it died before it had read all
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()
    answer = bytearray()
    while piece := await process.stdout.read(1 << 20):
        answer += piece
        if len(answer) > most_bytes:
            # The rest is never read: `_end` kills the process that still writes it.
            return None
    return bytes(answer)


async def _end(process: Process) -> None:
    """Kill a process that still runs, and all processes that it has started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                # The whole group, which `APART` has made: a reader may have started programs.
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DEATH_S):
                await process.wait()
    # Open pipes would outlive the event loop; asyncio has no public way to close them.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001


def _value(
    answer: bytes, status: int, limits: Limits, failed: Callable[[str], StarkError], kind: Any
) -> Any:
    if status:
        raise failed(_death(status, limits))
    try:
        said = json.loads(answer)
        if "value" in said:
            return TypeAdapter(kind).validate_python(said["value"])
        if "class" in said:
            # The name comes from `_said`, and every StarkError is a class of `errors`.
            refusal: StarkError = getattr(errors, said["class"])(*said["error"])
            raise refusal
        log.warning("not read", error=said["unforeseen"])
        raise failed(f"cannot be read ({said['unforeseen']})")
    except (ValueError, RecursionError) as error:
        raise failed(f"cannot be read ({type(error).__name__})") from None


def _death(status: int, limits: Limits) -> str:
    if status == _OUT_OF_MEMORY:
        return f"takes more than {human_size(limits.memory_bytes)} of memory to read"
    if status < 0 and -status in (signal.SIGXCPU, signal.SIGALRM):
        return _too_slow(limits)
    # Not signal.Signals: it has no names for real-time signals.
    how = signal.strsignal(-status) if status < 0 else f"code {status}"
    return f"cannot be read: its reader crashed ({how})"


def _too_slow(limits: Limits) -> str:
    return f"took more than {limits.seconds:g} s to read"


# In the child

_OUT_OF_MEMORY: Final = 12
"""The exit code of a process that got no memory."""


def main() -> None:
    """Answer the request on standard input."""
    # A library's printed output must not get into the answer.
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    limits, function, arguments, options = pickle.load(sys.stdin.buffer)  # noqa: S301 - the parent's
    _restrict(limits)
    try:
        said = json.dumps(_said(function, arguments, options), default=_plain).encode()
    except MemoryError:
        # Exit at once: a normal exit runs library code, which may need memory.
        os._exit(_OUT_OF_MEMORY)
    with suppress(BrokenPipeError), os.fdopen(answer, "wb") as out:
        out.write(said)
    # Skip the libraries' exit code, which sometimes crashes.
    os._exit(0)


def _said(function: Callable[..., Any], arguments: Any, options: Any) -> dict[str, Any]:
    try:
        return {"value": function(*arguments, **options)}
    except StarkError as error:
        fields = (error.code, error.message, error.fix)
        return {"class": type(error).__name__, "error": fields}
    except MemoryError:
        # Not an answer: `main` uses an exit code, which needs no memory.
        raise
    except Exception as error:  # noqa: BLE001 - a strange file brings out every fault of a reader
        # Cut: a library may quote much of the file that it could not read.
        return {"unforeseen": f"{type(error).__name__}: {error}"[:500]}


def _plain(value: object) -> object:
    """Return a value that JSON cannot encode as one that it can."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(type(value).__name__)


def _restrict(limits: Limits) -> None:
    """Set the limits of this process. On Windows only the parent's timeout limits it."""
    lower_priority(_NICENESS)
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    seconds = math.ceil(limits.seconds)
    for what, soft, hard in (
        (resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_CPU, seconds, seconds + 1),  # at the hard limit the signal is SIGKILL
        # Crashes are expected here, and a core dump would have gigabytes.
        (resource.RLIMIT_CORE, 0, 0),
    ):
        with suppress(OSError, ValueError):  # the limit is already lower
            resource.setrlimit(what, (soft, hard))
    # Ends the process even if the parent is gone.
    signal.alarm(seconds + 1)
    with suppress(OSError):  # the first process that the kernel kills if memory is short
        Path("/proc/self/oom_score_adj").write_text("1000")
