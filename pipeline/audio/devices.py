"""Call PortAudio with a time limit; list recording devices, choose one by name, meter its level.

PortAudio is not thread-safe, and any of its calls, its exit handler too, may wait for ever for a
sound server that has stopped answering. So every call goes through `call`: one at a time, on a
thread of its own. It lists devices only when it is initialised: so it is initialised again for
every list, and a microphone that was plugged in later is found.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pipeline.audio.level import measure
from pipeline.audio.protocols import AudioSource
from pipeline.core.errors import AudioError, ResourceError
from pipeline.core.reports import Level
from pipeline.core.threads import Thread

T = TypeVar("T")

_METER_BLOCKS = 4
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
            # By this thread and not by the caller: a call that is stuck keeps the turn, and no
            # other one enters PortAudio beside it.
            _TURN.release()

    thread = Thread(run, "portaudio")
    try:
        thread.start()
    except ResourceError:
        _TURN.release()
        raise
    thread.join(max(0.0, give_up_s - time.monotonic()))
    # The thread is left behind; its result, if one comes, is read by nobody.
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


@dataclass(frozen=True, slots=True)
class Device:
    """A recording device."""

    name: str
    host_api: str
    input_channels: int
    default_rate: int
    is_default: bool
    index: int
    """PortAudio's number of it, valid only until the list is renewed."""

    @property
    def is_virtual(self) -> bool:
        """True for ALSA's software devices, which offer any number of channels."""
        return self.host_api == "ALSA" and "(hw:" not in self.name


def devices() -> tuple[Device, ...]:
    """Return the recording devices present at this moment.

    Raises AudioError: audio-no-portaudio, audio-stuck, audio-device-failed.
    """
    return call(scan, doing="Listing the audio devices")


def choose(found: Sequence[Device], wanted: str) -> Device:
    """Return the device named `wanted`; "" is the system's default. Case does not matter.

    A whole name wins over a part of one, and the host API may be added: `usb mixer, alsa`.
    Raises AudioError: audio-device-missing, audio-device-ambiguous, both with the candidates.
    """
    # Not by name: "" is a part of every name, and would be ambiguous.
    if not wanted:
        default = next((device for device in found if device.is_default), None)
        if default is None:
            raise _missing("There is no default recording device.", found)
        return default
    word = wanted.casefold()
    # Windows lists a microphone once for each host API, so a name alone may fit several.
    named = [(device.name.casefold(), _full_name(device).casefold()) for device in found]
    # Whole names first, else "USB Audio" could not be chosen beside "USB Audio 2".
    exact = [d for d, names in zip(found, named, strict=True) if word in names]
    candidates = exact or [d for d, names in zip(found, named, strict=True) if word in names[1]]
    if not candidates:
        raise _missing(f"No recording device is called {wanted!r}.", found)
    if len(candidates) > 1:
        raise AudioError(
            "audio-device-ambiguous",
            f"{wanted!r} fits {len(candidates)} recording devices: {_list(candidates)}.",
            "Give more of the name in audio.device.",
        )
    return candidates[0]


def meter(source: AudioSource) -> Iterator[Level]:
    """Open `source` and yield its level about eight times a second, until it ends or is closed.

    Raises what the source raises. Closes it in the end.
    """
    source.open()
    try:
        held = []
        for block in source.blocks():
            held.append(block.pcm)
            if len(held) == _METER_BLOCKS:
                pcm = np.concatenate(held)
                held.clear()
                yield measure(pcm, speaking=False)
    finally:
        # Also when its reader leaves early: a generator that is dropped comes by here.
        source.close()


def scan(sounddevice: Any) -> tuple[Device, ...]:
    """Initialise PortAudio again and return its devices. Only inside `call`."""
    # An open stream would end with it: while one is live the list stays that of before.
    if not live:
        # The only way to find new devices. After a failed attempt it is not initialised.
        if sounddevice._initialized:  # noqa: SLF001
            sounddevice._terminate()  # noqa: SLF001
        sounddevice._initialize()  # noqa: SLF001
    apis = sounddevice.query_hostapis()
    # Without any sound system there is no host API, and no default to ask for.
    default = apis[sounddevice.default.hostapi]["default_input_device"] if apis else -1
    return tuple(
        Device(
            name=entry["name"],
            host_api=apis[entry["hostapi"]]["name"],
            input_channels=entry["max_input_channels"],
            default_rate=round(entry["default_samplerate"]),
            is_default=entry["index"] == default,
            index=entry["index"],
        )
        for entry in sounddevice.query_devices()
        if entry["max_input_channels"] > 0
    )


def _missing(sentence: str, found: Sequence[Device]) -> AudioError:
    there = f"There are: {_list(found)}." if found else "There is none at all: is it plugged in?"
    return AudioError("audio-device-missing", sentence, f"{there} Set audio.device.")


def _full_name(device: Device) -> str:
    return f"{device.name}, {device.host_api}"


def _list(found: Sequence[Device]) -> str:
    return "; ".join(repr(_full_name(device)) for device in found)
