"""The process of one engine: loads it, then answers one request after another.

`engines.process.engine_process` starts it and describes the messages. It ends when the parent's
end of the socket closes, and when the parent process dies, whatever it is doing then.
Standard output and error are a pipe to the parent. Log lines are JSON and begin with LOG_MARK;
everything else comes from libraries.
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
"""The exit code of a process that ran out of memory."""

# From <linux/prctl.h>: Python has no names for them.
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def main() -> None:
    """Serve the socket that the last argument names; the second argument is the parent's pid."""
    # First: until then this process would outlive a parent that dies.
    _step_back(int(sys.argv[2]), sys.argv[3])
    end = join(sys.argv[4])
    # On a crash in a library, this writes the Python traceback to the parent's log.
    faulthandler.enable()
    channel = Channel(end)
    with suppress(EOFError, OSError):
        try:
            _serve(channel)
        except MemoryError as error:  # for a received message
            _end_without_memory(error)
    # `os._exit` does not flush Python's buffers.
    sys.stdout.flush()
    sys.stderr.flush()
    # This skips the libraries' exit handlers, which sometimes crash.
    os._exit(0)


def _step_back(parent: int, name: str) -> None:
    """End when the parent ends, ignore signals that are for the parent, and write no core dump."""
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
    # If the parent died before the call above, no signal comes.
    if os.getppid() != parent:
        os._exit(0)
    import resource  # noqa: PLC0415 - not on Windows

    with suppress(OSError, ValueError):  # a core dump of gigabytes would delay the next process
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_with(parent: int) -> None:
    """End this process when the parent dies."""
    with suppress(psutil.NoSuchProcess):
        psutil.Process(parent).wait()
    # Not `sys.exit`, which would end only this thread.
    os._exit(0)


def _serve(channel: Channel) -> None:
    description, _ = channel.receive(Patience())
    _send_logs(description["log_level"])
    # Any process may raise its own value; only lowering it needs privileges.
    # If the value cannot be set, the engine still runs.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(description["oom_score_adj"]))
    # Before the engine is created: on Linux its threads inherit this thread's priority.
    lower_priority(description["niceness"])
    spec = EngineSpec.from_json(description["engine"])
    engine: Any = make(spec)
    try:
        engine.load()
    except MemoryError as error:
        _end_without_memory(error)
    except OSError as error:
        # `main` takes an OSError for the end of the socket: a missing library would go unreported.
        raise RuntimeError(str(error)) from error
    except StarkError as error:
        _end_if_without_memory(error)
        # A missing file or a wrong setting is reported unchanged; this is a library's error.
        if error.code == "model-broken" and not is_enough(
            spec.model, addresses=address_limit(), free=free_bytes()
        ):
            _end_without_memory(error)
        channel.send(_refusal(error), patience=Patience())
        return
    # The parent does not know the effect of the settings on loading.
    loaded = {
        "is": "loaded",
        "degraded_reason": engine.degraded_reason,
        "gpu_layers": engine.gpu_layers,
        "kernels": getattr(engine, "kernels", ""),
    }
    channel.send(loaded, patience=Patience())
    while True:
        # No time limit: an hour without speech is normal.
        request, data = channel.receive(Patience())
        if request["do"] == "cancel":
            continue  # `engine.is_cancelled` has handled it, or it came after the answer
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
        answer["degraded_reason"] = engine.degraded_reason  # a server may have gone or come back
        # Removed first: samples are not JSON and follow the message separately.
        channel.send(answer, answer.pop("data", b""), patience=Patience())


def _answer(
    engine: Any, request: dict[str, Any], data: bytearray, channel: Channel
) -> dict[str, Any]:
    if request["do"] == "score":
        if not hasattr(engine, "score"):  # a server
            raise EngineError("score-unknown", f"{engine.name} judges no translations.")
        previous = _pair(request["previous"])
        scores = engine.score(request["text"], request["targets"], previous)
        return {"is": "done", "value": {"scores": scores}}
    if request["do"] == "speak":
        pcm = engine.speak(request["text"], request["lang"], request["rate"])
        return {"is": "done", "value": {}, "data": np.ascontiguousarray(pcm, np.float32).data}
    # During a request the only message that may come is its cancellation.
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
    if target := request.get("target"):  # a translator with one language does not need it
        engine.target = target

    def grow(text: str) -> None:
        channel.send({"is": "text", "text": text}, patience=Patience())

    standing = request["standing"]
    asked = TranslationRequest(
        on_text=grow if request["stream"] else None,
        draft=request["draft"],
        standing=Standing(**standing) if standing else None,
        wanted=tuple(WantedTerm(**term) for term in request["wanted"]),
        rivals=request["rivals"],
        previous=_pair(request["previous"]),
    )
    return {"is": "done", "value": engine.translate(request["text"], asked)}


def _pair(value: dict[str, str] | None) -> SentencePair | None:
    return SentencePair(**value) if value else None


def _refusal(error: StarkError) -> dict[str, Any]:
    return {
        "is": "error",
        "class": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "fix": error.fix,
    }


def _end_if_without_memory(error: StarkError) -> None:
    # Engines wrap library errors: only the words show that memory ran out.
    if NO_MEMORY.search(error.message):
        _end_without_memory(error)


def _end_without_memory(error: BaseException) -> None:
    """End the process, because the library's state is no longer reliable."""
    said = error.message if isinstance(error, StarkError) else str(error)  # its fix does not help
    # Not `print`: `os._exit` drops buffered output.
    os.write(2, f"\n{said or 'out of memory'}\n".encode(errors="replace"))
    os._exit(OUT_OF_MEMORY)


class _Forward(logging.Handler):
    """Writes log records to the parent, one per line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record in one piece, so that libraries' lines cannot mix with it."""
        message = record.msg if isinstance(record.msg, dict) else {"event": record.getMessage()}
        if record.exc_info:
            message = {**message, "exception": logging.Formatter().formatException(record.exc_info)}
        facts = {"level": record.levelno, "logger": record.name, **message}
        # A failed write of a log line must not end the engine during a sentence.
        with suppress(OSError, TypeError):
            line = orjson.dumps(facts, default=str, option=orjson.OPT_NON_STR_KEYS)
            # A write of up to 4096 bytes (PIPE_BUF) to a pipe is atomic; longer lines may mix.
            os.write(2, LOG_MARK + line + b"\n")


def _send_logs(level: int) -> None:
    """Send every log line of at least this level to the parent."""
    import structlog  # noqa: PLC0415 - after `_step_back`, so that the process ends with its parent

    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, _as_message],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    logging.getLogger().addHandler(_Forward())
    _set_log_level(level)
    # Else Python writes warnings to stderr, where they look like a library's last words.
    logging.captureWarnings(capture=True)


def _set_log_level(level: int) -> None:
    """Drop lines that the parent drops: libraries' lines below WARNING, unless in DEBUG."""
    logging.getLogger("pipeline").setLevel(level)
    logging.getLogger().setLevel(level if level <= logging.DEBUG else logging.WARNING)


def _as_message(
    _logger: Any, _name: str, event: MutableMapping[str, Any]
) -> tuple[tuple[Any], dict[str, Any]]:
    return (event,), {}
