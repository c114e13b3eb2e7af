"""All errors that this program raises on purpose. Pure."""

from __future__ import annotations

import errno
import re
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar, Final


class StarkError(Exception):
    """Base of all errors raised on purpose.

    `code` is a kebab-case word for scripts and logs, `message` one sentence that names the file,
    key or device, and `fix` what the person can do about it (may be empty).
    """

    # For scripts and systemd. A class whose errors they must distinguish has its own code.
    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, fix: str = "") -> None:
        super().__init__(code, message, fix)  # all of them, so that an error can be pickled
        self.code = code
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".rstrip() + f" [{self.code}]"


@contextmanager
def reading(
    place: object,
    kind: type[StarkError],
    code: str,
    fix: str = "",
    wrong: tuple[type[Exception], ...] = (),
    *,
    did: str = "read",
) -> Generator[None, None, None]:
    """Turn an OSError of the block, or one of `wrong`, into "`place` cannot be read: why."."""
    errors: tuple[type[Exception], ...] = (OSError, *wrong)
    try:
        yield
    except errors as error:
        # The text of a KeyError is only the key, and a parser's text may have several lines.
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error).partition("\n")[0]
        why = getattr(error, "strerror", None) or why or type(error).__name__
        # `from None`: the message contains the system's reason, and a second trace would hide it.
        raise kind(code, f"{place} cannot be {did}: {why.rstrip('.')}.", fix) from None


def writing(
    place: object, kind: type[StarkError], code: str, fix: str = ""
) -> AbstractContextManager[None]:
    """Turn an OSError of the block into "`place` cannot be written: why."."""
    return reading(place, kind, code, fix, did="written")


class ConfigError(StarkError):
    """A setting is unknown, of the wrong type or out of range."""

    # EX_CONFIG of sysexits.h; the systemd unit names it, so a wrong key causes no endless restart.
    exit_code = 78


class UsageError(StarkError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2


class AudioError(StarkError):
    """A device or an audio file cannot be used."""


class AudioLostError(AudioError):
    """The device delivered and then stopped: unplugged, or its server went away. It is reopened."""


class ModelError(StarkError):
    """A model is missing, broken or of the wrong kind."""


class ModelCrashError(ModelError):
    """The engine's process dies whenever it loads the model: a retry does not help."""

    # EX_SOFTWARE; the systemd unit names it as well.
    exit_code = 70


class EngineError(StarkError):
    """An engine failed on one utterance: costs that utterance only."""


class EngineGoneError(EngineError):
    """The engine's process ended, or is not there yet; another one is being started."""


class EngineCancelledError(EngineError):
    """The engine was asked to stop: speech has returned, or other work has priority."""


class DictionaryError(StarkError):
    """A dictionary file cannot be read or holds a rule that makes no sense."""


class VersesError(StarkError):
    """A Bible's file, or the index made of it, cannot be read or written."""


class NotesError(StarkError):
    """A preacher's notes, or the data extracted from them, cannot be read or written."""


class ServerError(StarkError):
    """The port is taken, the address is not ours, or no daemon answers there."""


class PublishError(StarkError):
    """A server or program beyond the hall cannot be reached, or refuses captions."""


class SessionError(StarkError):
    """The session folder cannot be made or written."""


class ResourceError(StarkError):
    """The system gives this program no more memory, or no further thread."""


class LearningError(StarkError):
    """A step of learning cannot be done, or its data folder cannot be used."""


class ProtocolError(StarkError):
    """A client sent a message that is not one of protocol version 1."""


def quoted(value: object, most: int = 40) -> str:
    """Return `repr(value)` cut to `most` characters, for an error message about it."""
    try:
        return repr(value)[:most]
    except ValueError:  # Python does not write integers of more than 4300 digits
        return "a very large number"


# Matched by their text: most of them are a plain RuntimeError or ImportError without a number.
NO_MEMORY: Final = re.compile(
    r"bad_alloc|out of memory|cannot allocate memory|OUT_OF_MEMORY|MemoryError|mkl_malloc"
    r"|memory allocation|failed to (map segment|allocate|mmap)|unable to allocate|mmap failed"
    r"|could not create a memory object|thread creation failed|can't start new thread",
    re.IGNORECASE,
)
"""Out-of-memory messages of the C++ library, CUDA, the loader, MKL, OpenBLAS, ggml, numpy, oneDNN,
OpenMP and Python. There are more: `engines.memory` recognizes a load that could not succeed."""


def without_resources(error: BaseException) -> ResourceError | None:
    """Return the error to show if the system gave no thread or no memory, None for other errors."""
    # CPython signals it only by this text in a RuntimeError.
    if "can't start new thread" in str(error):
        lacks = "no further thread: its memory, or the number of its threads, is limited"
    elif (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, ImportError | RuntimeError) and NO_MEMORY.search(str(error)))
    ):
        lacks = "no more memory"
    else:
        return None
    return ResourceError(
        "no-memory",
        f"The system gives this program {lacks}.",
        "End other programs, or raise the limit (ulimit -v, ulimit -u; LimitAS=, TasksMax= and "
        "MemoryMax= in systemd's unit).",
    )
