"""A sound card, mixer or microphone as a source, through PortAudio.

PortAudio's thread only copies frames into the capture queue; the thread that reads `blocks` does
all other work. A device that disappears often raises no error, its callbacks just stop. So after a
second without a callback it counts as lost.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.audio.devices import Device, call, choose, live, scan
from pipeline.audio.resampler import BlockResampler
from pipeline.core.errors import AudioError, AudioLostError
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock

QUEUE_S = 10.0
_FIRST_S = 5.0
"""How long a device may take to deliver its first frames. Virtual ones have taken 2 s."""
_LOST_S = 1.0
"""Seconds without a callback after which a device that has delivered counts as lost."""
_WAIT_S = 0.25
_LATENCY_S = 0.1
"""The driver's buffer: a callback every 25 ms, with reserve for a busy machine."""
_CLOSE_S = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """The frames of one PortAudio callback."""

    position: int
    """The number of the first frame since the device was opened, lost frames included."""
    frames: NDArray[np.float32]
    """Shape (n, channels)."""
    arrived_s: float

    @property
    def end(self) -> int:
        """The number of the frame that should come next."""
        return self.position + len(self.frames)


class CaptureQueue:
    """About 10 s of chunks. A full queue drops the oldest, which leaves a gap in the positions."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        # Without a size limit, which would refuse the newest chunk: `put` drops the oldest.
        self._chunks: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
        self._position = 0
        self._arrived_s = 0.0

    def callback(self, frames: NDArray[np.float32], _count: int, _time: Any, status: Any) -> None:
        """Queue the frames of a callback. Never waits: PortAudio would lose audio."""
        # A copy: PortAudio uses the same buffer for the next callback.
        self.put(frames.copy(), time.monotonic(), overflowed=bool(status.input_overflow))

    def put(self, frames: NDArray[np.float32], arrived_s: float, *, overflowed: bool) -> None:
        """Queue frames. After an overflow the position jumps by about the frames lost."""
        if overflowed and self._arrived_s:
            # PortAudio does not report how much was lost, so the time between callbacks is used.
            lost = round((arrived_s - self._arrived_s) * self.rate) - len(frames)
            # At least a block: there is a gap even if the clock does not show it.
            self._position += max(lost, self.rate * BLOCK_SAMPLES // SAMPLE_RATE)
        chunk = Chunk(self._position, frames, arrived_s)
        self._position, self._arrived_s = chunk.end, arrived_s
        self._chunks.put(chunk)
        # Estimated from this chunk: the others are similar, and the limit need not be exact.
        if self._chunks.qsize() * len(frames) > QUEUE_S * self.rate:
            with contextlib.suppress(queue.Empty):  # the reader was quicker
                self._chunks.get_nowait()

    def get(self, timeout_s: float) -> Chunk | None:
        """Return the oldest chunk, None when there will be no more. Raises queue.Empty."""
        return self._chunks.get(timeout=timeout_s)

    def finish(self) -> None:
        """End the queue: the stream has ended or was closed."""
        # A mark in the queue, not a flag: the chunks before it are still read.
        self._chunks.put(None)


class Microphone:
    """Records from the device called `device`: a name or part of one, "" for the system's default.

    `channel` 1 is the first, 0 the mean of all. The device runs at 16 kHz if it can, else at its
    own rate with resampling here.
    """

    def __init__(self, device: str, *, channel: int = 1) -> None:
        self._device = device
        self._channel = channel
        self.name = device or "default recording device"
        """The device's full name once it is open."""
        self._closed = threading.Event()
        self._stream: Any = None
        self._capture = CaptureQueue(SAMPLE_RATE)
        self._cutter: BlockResampler | None = None
        self._expected = 0
        self._lost_samples = 0
        self._position = 0
        self._position_s = 0.0

    @property
    def dropped_blocks(self) -> int:
        """Blocks lost so far to the driver's overflows and a full queue, rounded up."""
        return -(-self._lost_samples // BLOCK_SAMPLES)

    @property
    def bad_samples(self) -> int:
        """Samples since the device was opened that were not finite numbers."""
        return self._cutter.bad_samples if self._cutter else 0

    def open(self) -> None:
        """Find the device by name and start recording; may be called again after AudioLostError.

        Raises AudioError: audio-device-missing, audio-device-ambiguous, audio-channel,
        audio-device-failed, audio-no-portaudio, audio-stuck.
        """
        self._closed.clear()
        call(self._start, doing=f"Opening {self.name}")

    def blocks(self) -> Iterator[AudioBlock]:
        """Yield blocks until `close`.

        `start_sample` jumps by the lost samples, and after a new `open` by the time in between.
        Raises AudioLostError (audio-lost) when the device stops or delivers nothing for a second.
        """
        # The queue of this opening: a later `open` replaces it.
        capture = self._capture
        quiet_s = 0.0
        while not self._closed.is_set():
            # Several short waits instead of one: if the whole program was stopped for seconds, only
            # one of them has timed out, and the device does not count as lost.
            try:
                chunk = capture.get(_WAIT_S)
            except queue.Empty:
                quiet_s += _WAIT_S
                if quiet_s < (_LOST_S if self._expected else _FIRST_S):
                    continue
                raise self._lost(f"no audio for {quiet_s:.0f} s") from None
            quiet_s = 0.0
            if chunk is None:
                if self._closed.is_set():
                    return
                raise self._lost("the device stopped")
            if self._cutter is None:
                began_s = chunk.arrived_s - chunk.end / capture.rate
                self._cutter = self._new_cutter(capture.rate, began_s)
            if chunk.position > self._expected:
                self._lost_samples += self._cutter.skip(chunk.position - self._expected)
            self._expected = chunk.end
            yield from self._cutter.push(chunk.frames, chunk.arrived_s)
            self._position, self._position_s = self._cutter.position, chunk.arrived_s

    def close(self) -> None:
        """End `blocks` and release the device, from any thread, within two seconds."""
        self._closed.set()
        # This wakes the reader at once; otherwise it would finish its wait first.
        self._capture.finish()
        # A hanging sound server keeps PortAudio from closing. Giving up loses nothing, and the
        # program must be able to end.
        with contextlib.suppress(AudioError):
            call(self._discard, doing=f"Closing {self.name}", timeout_s=_CLOSE_S)

    def _start(self, sounddevice: Any) -> None:
        self._discard(sounddevice)
        # After the lost stream is closed: while one is live, `scan` finds no new devices.
        device = choose(scan(sounddevice), self._device)
        if self._channel > device.input_channels:
            raise AudioError(
                "audio-channel",
                f"{device.name} has {device.input_channels} input channels, not {self._channel}.",
                f"Set audio.channel to 1..{device.input_channels}, or to 0 to mix them.",
            )
        how = {"device": device.index, "channels": channels_to_open(device, self._channel)}
        capture = CaptureQueue(_rate(sounddevice, device, how))
        try:
            stream = sounddevice.InputStream(
                samplerate=capture.rate,
                dtype="float32",
                latency=_LATENCY_S,
                callback=capture.callback,
                finished_callback=capture.finish,
                **how,
            )
            live.add(stream)
            self._stream = stream  # before the start, so that a failed one is closed too
            stream.start()
        except sounddevice.PortAudioError as error:
            self._discard(sounddevice)
            raise AudioError(
                "audio-device-failed",
                f"{device.name} cannot be opened: {error}.",
                "Another program may be holding it.",
            ) from None
        self._capture, self.name = capture, device.name
        # Made with the first frames: only they give the start time of this opening.
        self._cutter, self._expected = None, 0

    def _discard(self, _sounddevice: Any) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            # Not stop(), which waits for pending buffers.
            stream.abort(ignore_errors=True)
            stream.close(ignore_errors=True)
            live.discard(stream)

    def _new_cutter(self, rate: int, began_s: float) -> BlockResampler:
        """Continue the sample count of an earlier opening, plus the time until `began_s`."""
        start = 0
        # 0: there is no earlier opening, and the count begins with this one.
        if self._position_s:
            # At least a block: two openings must never share a sample number.
            away = round((began_s - self._position_s) * SAMPLE_RATE)
            start = self._position + max(BLOCK_SAMPLES, away)
        return BlockResampler(rate, channel=self._channel, start_sample=start)

    def _lost(self, reason: str) -> AudioLostError:
        return AudioLostError(
            "audio-lost", f"{self.name} went away: {reason}.", "Check the cable and the mixer."
        )


def channels_to_open(device: Device, channel: int) -> int:
    """Return how many channels to open.

    For one channel of a stereo device, open two: ALSA's software devices answer a request for one
    with the mix of both. They also offer 32 channels and more, mostly empty: to mix "all" of them
    means to mix two.
    """
    two = min(2, device.input_channels)
    if channel == 0:
        return two if device.is_virtual else device.input_channels
    return max(channel, two)


def _rate(sounddevice: Any, device: Device, how: dict[str, int]) -> int:
    try:
        sounddevice.check_input_settings(samplerate=SAMPLE_RATE, dtype="float32", **how)
    except sounddevice.PortAudioError:
        return device.default_rate
    return SAMPLE_RATE
