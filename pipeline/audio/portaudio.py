"""Call PortAudio with a time limit.

PortAudio is not thread-safe, and any of its calls, its exit handler too, may wait for ever for a
sound server that has stopped answering. So every call goes through `call`: one at a time, on a
thread of its own.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from pipeline.core.errors import AudioError, ResourceError
from pipeline.core.threads import Thread

T = TypeVar("T")

_TURN = threading.Lock()

live: set[Any] = set()
"""The open streams, which a new initialisation of PortAudio would end. Used only inside `call`."""


def call(action: Callable[[Any], T], *, doing: str, timeout_s: float = 5.0) -> T:
    """Return `action(sounddevice)`, run on a thread of its own.

    `doing` begins the message when it fails. Raises AudioError: audio-no-portaudio,
    audio-device-failed, and audio-stuck when it takes longer than `timeout_s` or when an earlier
    call is still waiting; nothing but the end of the process, or the sound server, ends that.
    """
    give_up_s = time.monotonic() + timeout_s
    if not _TURN.acquire(timeout=timeout_s):  # an earlier call still waits, perhaps for ever
        raise _stuck(doing)
    done: Future[T] = Future()

    def run() -> None:
        try:
            sounddevice = _sounddevice(doing)
            try:
                done.set_result(action(sounddevice))
            except sounddevice.PortAudioError as error:
                raise AudioError("audio-device-failed", f"{doing}: {error}.") from None
        except BaseException as error:  # noqa: BLE001 - it goes to the caller
            done.set_exception(error)
        finally:
            _TURN.release()

    thread = Thread(run, "portaudio")
    try:
        thread.start()
    except ResourceError:
        _TURN.release()
        raise
    thread.join(max(0.0, give_up_s - time.monotonic()))
    if not done.done():
        _leave_portaudio_open_at_exit()
        raise _stuck(doing)
    return done.result()


def _sounddevice(doing: str) -> Any:
    try:
        import sounddevice  # noqa: PLC0415 - importing it initialises PortAudio
    except Exception as error:
        raise AudioError(
            "audio-no-portaudio",
            f"{doing}: PortAudio cannot be used: {error}.",
            "Install it (Debian: libportaudio2).",
        ) from error
    return sounddevice


def _leave_portaudio_open_at_exit() -> None:
    # Not by an import: the call that is stuck may be the one that imports.
    handler = getattr(sys.modules.get("sounddevice"), "_exit_handler", None)
    if handler is not None:
        atexit.unregister(handler)  # it would wait as well


def _stuck(doing: str) -> AudioError:
    return AudioError(
        "audio-stuck",
        f"{doing}: the sound system does not answer.",
        "Restart the sound server (PulseAudio, PipeWire), then this program.",
    )
