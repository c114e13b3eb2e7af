"""The process of one engine: loads it, then answers one request after another.

It is started by `engines.process.engine_process`, which describes the messages. It ends when
that side of the socket closes, and with the death of its parent process, whatever it is at.
Standard output and error are a pipe to that process: log lines begin with LOG_MARK and are JSON,
everything else is what libraries write there.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import math
import os
import signal
import sys
import time
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import psutil

from pipeline.core.errors import NO_MEMORY, EngineError, StarkError
from pipeline.core.processes import lower_priority
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.threads import Thread
from pipeline.engines.process.channel import Channel, Patience
from pipeline.engines.process.joining import join
from pipeline.engines.process.memory import address_limit, free_bytes, is_enough
from pipeline.engines.protocols import SentencePair, TranslationRequest
from pipeline.engines.specification import EngineSpec, make

LOG_MARK: Final = b"\x1e"

OUT_OF_MEMORY: Final = 12
"""The exit code of a process that got no memory."""

# From <linux/prctl.h>: Python has no names for them.
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def main() -> None:
    """Serve the socket that the last argument names, for the parent in the second."""
    # First of all: until then it would outlive a parent that dies.
    _step_back(int(sys.argv[2]), sys.argv[3])
    end = join(sys.argv[4])
    # Of a crash in a library the parent's log has the lines of Python that led to it.
    faulthandler.enable()
    channel = Channel(end)
    with suppress(EOFError, OSError):
        try:
            _serve(channel)
        except MemoryError as error:  # for what the other side sends
            _end_without_memory(error)
    # `os._exit` writes out nothing that Python still holds.
    sys.stdout.flush()
    sys.stderr.flush()
    # Not through the libraries' own ends, which now and then crash.
    os._exit(0)


def _step_back(parent: int, name: str) -> None:
    """End with the parent, leave signals to it, and be the first that a lack of memory costs."""
    for each in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        if hasattr(signal, each):
            signal.signal(getattr(signal, each), signal.SIG_IGN)
    try:
        prctl = ctypes.CDLL(None).prctl
    except (TypeError, AttributeError):  # Windows has no such library, macOS no such function
        Thread(lambda: _end_with(parent), "end with parent").start()
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The kernel keeps 15 bytes of a name.
    prctl(_PR_SET_NAME, name.encode()[:15])
    # A parent that died before the call above sends no signal any more.
    if os.getppid() != parent:
        os._exit(0)
    import resource  # noqa: PLC0415 - not on Windows

    with suppress(OSError, ValueError):  # writing gigabytes of core would hold up the next process
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_with(parent: int) -> None:
    """Wait for the parent's death, and end with it."""
    with suppress(psutil.NoSuchProcess):
        psutil.Process(parent).wait()
    # Not `sys.exit`, which would end this thread only.
    os._exit(0)


def _serve(channel: Channel) -> None:
    description, _ = channel.receive(Patience())
    _send_logs(description["log_level"])
    # Any process may raise its own value; only lowering it takes rights.
    # Where that cannot be set the engine runs all the same.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(description["oom_score_adj"]))
    # Before the engine is made: on Linux its threads inherit the priority of this one.
    lower_priority(description["niceness"])
    spec = EngineSpec.from_json(description["engine"])
    engine: Any = make(spec)
    try:
        engine.load()
    except MemoryError as error:
        _end_without_memory(error)
    except OSError as error:
        # `main` takes one for the end of the socket; a library that is missing would go unsaid.
        raise RuntimeError(str(error)) from error
    except StarkError as error:
        _end_if_without_memory(error)
        # A missing file or a wrong setting is reported as it is; here the library has spoken.
        if error.code == "model-broken" and not is_enough(
            spec.model, addresses=address_limit(), free=free_bytes()
        ):
            _end_without_memory(error)
        channel.send(_refusal(error), patience=Patience())
        return
    # What the other process cannot know: what loading made of the settings.
    loaded = {
        "is": "loaded",
        "degraded_reason": engine.degraded_reason,
        "gpu_layers": engine.gpu_layers,
        "kernels": getattr(engine, "kernels", ""),
    }
    channel.send(loaded, patience=Patience())
    while True:
        # Without a limit: nobody may speak for an hour, and that is no fault.
        request, data = channel.receive(Patience())
        if request["do"] == "cancel":
            continue  # read between two tokens, or too late: the answer was on its way
        _set_log_level(request["log_level"])
        start_s = time.perf_counter()
        try:
            answer = _answer(engine, request, data, channel)
            answer["took_s"] = time.perf_counter() - start_s
        except MemoryError as error:
            _end_without_memory(error)
        except EngineError as error:
            _end_if_without_memory(error)
            answer = _refusal(error)
        answer["degraded_reason"] = engine.degraded_reason  # a server may be gone, or back
        # Taken out first: samples are no JSON, and follow by themselves.
        channel.send(answer, answer.pop("data", b""), patience=Patience())


def _answer(
    engine: Any, request: dict[str, Any], data: bytearray, channel: Channel
) -> dict[str, Any]:
    if request["do"] == "score":
        previous = _pair(request["previous"])
        scores = engine.score(request["text"], request["targets"], previous)
        return {"is": "done", "value": {"scores": scores}}
    if request["do"] == "speak":
        pcm = engine.speak(request["text"], request["lang"], request["rate"])
        return {"is": "done", "value": {}, "data": np.ascontiguousarray(pcm, np.float32).data}
    # While it is at a request, nothing but its cancellation is sent.
    engine.is_cancelled = channel.has_message
    if request["do"] == "recognize":
        engine.hotwords, engine.lang = request["hotwords"], request["lang"]
        # A view: the bytes of a long utterance are not copied.
        pcm = np.frombuffer(data, np.float32)
        heard = engine.recognize(pcm, final=request["final"], prefix=request["prefix"])
        return {"is": "done", "value": heard}
    deadline_s = request["deadline_s"]
    # JSON has no infinity.
    engine.deadline_s = math.inf if deadline_s is None else deadline_s
    if target := request.get("target"):  # one that knows a single language has no use for it
        engine.target = target

    def grow(text: str) -> None:
        channel.send({"is": "text", "text": text}, patience=Patience())

    # JSON makes lists of tuples, and these values are compared with others that have tuples.
    wanted = tuple(
        WantedTerm(**(term | {each: tuple(term[each]) for each in ("forms", "foreign")}))
        for term in request["wanted"]
    )
    asked = TranslationRequest(
        on_text=grow if request["stream"] else None,
        draft=request["draft"],
        standing=_standing(request["standing"]),
        wanted=wanted,
        rivals=None if request["rivals"] is None else tuple(request["rivals"]),
        previous=_pair(request["previous"]),
    )
    return {"is": "done", "value": engine.translate(request["text"], asked)}


def _pair(value: dict[str, str] | None) -> SentencePair | None:
    return SentencePair(**value) if value else None


def _standing(value: dict[str, Any] | None) -> Standing | None:
    """Return what JSON has made lists of."""
    return Standing(**{**value, "pieces": tuple(map(tuple, value["pieces"]))}) if value else None


def _refusal(error: StarkError) -> dict[str, Any]:
    return {
        "is": "error",
        "class": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "fix": error.fix,
    }


def _end_if_without_memory(error: StarkError) -> None:
    # Engines wrap what their libraries say: only the words are left of a want of memory.
    if NO_MEMORY.search(error.message):
        _end_without_memory(error)


def _end_without_memory(error: BaseException) -> None:
    """End: whatever the library had half done cannot be relied on."""
    said = error.message if isinstance(error, StarkError) else str(error)  # its fix is of no use
    # Not `print`: `os._exit` drops what is buffered.
    os.write(2, f"\n{said or 'out of memory'}\n".encode(errors="replace"))
    os._exit(OUT_OF_MEMORY)


class _Forward(logging.Handler):
    """Writes records to the parent, a line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record in one piece, so that libraries' own lines cannot get into it."""
        message = record.msg if isinstance(record.msg, dict) else {"event": record.getMessage()}
        if record.exc_info:
            message = {**message, "exception": logging.Formatter().formatException(record.exc_info)}
        facts = {"level": record.levelno, "logger": record.name, **message}
        # A line that cannot be written must not end the engine in the middle of a sentence.
        with suppress(OSError, TypeError):
            line = orjson.dumps(facts, default=str, option=orjson.OPT_NON_STR_KEYS)
            # Up to 4096 bytes (PIPE_BUF) a write to a pipe stays whole; longer lines may mix.
            os.write(2, LOG_MARK + line + b"\n")


def _send_logs(level: int) -> None:
    """Hand every log line of at least this level to the parent."""
    import structlog  # noqa: PLC0415 - after the process is safe from being left behind

    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, _as_message],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    logging.getLogger().addHandler(_Forward())
    _set_log_level(level)
    # Else Python writes them to stderr, where they count as the last words of a library.
    logging.captureWarnings(capture=True)


def _set_log_level(level: int) -> None:
    """Leave out what the parent would: of libraries' lines all below a warning."""
    logging.getLogger("pipeline").setLevel(level)
    logging.getLogger().setLevel(level if level <= logging.DEBUG else logging.WARNING)


def _as_message(
    _logger: Any, _name: str, event: MutableMapping[str, Any]
) -> tuple[tuple[Any], dict[str, Any]]:
    return (event,), {}
