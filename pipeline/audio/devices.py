"""Call PortAudio with a time limit; list recording devices, choose one by name, meter its level.

PortAudio is not thread-safe, and any call, also its exit handler, may block forever if the sound
server hangs. So every call goes through `call`: one at a time, each on its own thread. PortAudio
finds devices only at its initialisation. So it is initialised again for every list, to find
microphones plugged in later.
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
"""The open streams; a new initialisation of PortAudio would end them. Used only inside `call`."""


def call(action: Callable[[Any], T], *, doing: str, timeout_s: float = 5.0) -> T:
    """Return `action(sounddevice)`, run on its own thread.

    `doing` begins the error message. Raises AudioError: audio-no-portaudio, audio-device-failed,
    and audio-stuck if the call takes longer than `timeout_s` or an earlier call still blocks. Only
    the sound server or the end of the process can end a blocked call.
    """
    give_up_s = time.monotonic() + timeout_s
    if not _TURN.acquire(timeout=timeout_s):  # an earlier call still blocks, perhaps forever
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
            # Released by this thread, not by the caller: a blocked call keeps the lock, so that no
            # other call enters PortAudio meanwhile.
            _TURN.release()

    thread = Thread(run, "portaudio")
    try:
        thread.start()
    except ResourceError:
        _TURN.release()
        raise
    thread.join(max(0.0, give_up_s - time.monotonic()))
    # The thread is abandoned; its result, if any, is ignored.
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
    # No import here: the blocked call may be importing the module.
    handler = getattr(sys.modules.get("sounddevice"), "_exit_handler", None)
    if handler is not None:
        atexit.unregister(handler)  # it would block as well


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
    """PortAudio's device number, valid only until the next list."""

    @property
    def is_virtual(self) -> bool:
        """True for ALSA's software devices, which offer any number of channels."""
        return self.host_api == "ALSA" and "(hw:" not in self.name


def devices() -> tuple[Device, ...]:
    """Return the recording devices that are present now.

    Raises AudioError: audio-no-portaudio, audio-stuck, audio-device-failed.
    """
    return call(scan, doing="Listing the audio devices")


def choose(found: Sequence[Device], wanted: str) -> Device:
    """Return the device named `wanted`; "" is the system's default. Case does not matter.

    A full name wins over a part of a name. The host API may be added: `usb mixer, alsa`.
    Raises AudioError: audio-device-missing, audio-device-ambiguous, both with the candidates.
    """
    # Not by name: "" is part of every name and would be ambiguous.
    if not wanted:
        default = next((device for device in found if device.is_default), None)
        if default is None:
            raise _missing("There is no default recording device.", found)
        return default
    word = wanted.casefold()
    # Windows lists a microphone once per host API, so a name alone may match several.
    named = [(device.name.casefold(), _full_name(device).casefold()) for device in found]
    # Full names first, else "USB Audio" could not be chosen if there is "USB Audio 2".
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

    Raises what the source raises. Closes the source at the end.
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
        # Also if the reader stops early: closing a generator runs its `finally`.
        source.close()


def scan(sounddevice: Any) -> tuple[Device, ...]:
    """Initialise PortAudio again and return its devices. Only inside `call`."""
    # Initialising ends open streams: while one is live, the old list stays.
    if not live:
        # The only way to find new devices. After a failed attempt PortAudio is not initialised.
        if sounddevice._initialized:  # noqa: SLF001
            sounddevice._terminate()  # noqa: SLF001
        sounddevice._initialize()  # noqa: SLF001
    apis = sounddevice.query_hostapis()
    # Without a sound system there is no host API and no default device.
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
    fix = f"There are: {_list(found)}. Set audio.device."
    if not found:
        fix = "There is none at all: plug it in, or caption a recording with --input FILE."
    return AudioError("audio-device-missing", sentence, fix)


def _full_name(device: Device) -> str:
    return f"{device.name}, {device.host_api}"


def _list(found: Sequence[Device]) -> str:
    return "; ".join(repr(_full_name(device)) for device in found)
