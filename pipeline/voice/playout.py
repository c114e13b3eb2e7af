"""The sound of one language: speech with silence between, as one endless MP3."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.core.types import Pcm

if TYPE_CHECKING:
    from av.audio.codeccontext import AudioCodecContext

# Kokoro's own rate; espeak-ng is resampled to it.
RATE_HZ = 24_000
FRAME = 576
"""Samples of an MP3 frame at this rate. Each frame is independent: a player may start anywhere."""
# Enough for one voice in mono. Each listener adds this rate to the network's load.
BIT_RATE = 48_000
_PAUSE_S = 0.25
"""Pause between two captions; without it two sentences sound like one."""


class Playout:
    """Sound that waits to be heard. Only the holder of the voice's lock may use it."""

    def __init__(self) -> None:
        # With the caption's id, so that a hidden caption's waiting sound can be dropped.
        self._waiting: deque[tuple[int, Pcm]] = deque()  # (caption, samples)
        self._last = -1

    @property
    def queued_s(self) -> float:
        """Seconds of sound that are still to be heard."""
        return sum(len(pcm) for _, pcm in self._waiting) / RATE_HZ

    def put(self, caption_id: int, pcm: Pcm) -> None:
        """Append sound, shape (n,) at RATE_HZ, to the queue."""
        # If nothing waits, the silence before it is pause enough.
        if self._waiting and caption_id != self._last:
            pcm = np.concatenate([np.zeros(int(_PAUSE_S * RATE_HZ), np.float32), pcm])
        self._last = caption_id
        self._waiting.append((caption_id, pcm))

    def drop(self, caption_id: int | None = None) -> None:
        """Drop the waiting sound of a caption; None drops everything."""
        kept = ((key, pcm) for key, pcm in self._waiting if key != caption_id)
        self._waiting = deque() if caption_id is None else deque(kept)

    def take(self, count: int) -> Pcm:
        """Return the next `count` samples, with silence if nothing waits."""
        # Always the full count: after a gap in the stream a player buffers, and is late from then.
        taken = np.zeros(count, np.float32)
        at = 0
        while self._waiting and at < count:
            key, pcm = self._waiting.popleft()
            part = pcm[: count - at]
            taken[at : at + len(part)] = part
            at += len(part)
            if len(part) < len(pcm):
                # Still with its caption's id, so that half-heard sound can be cut off.
                self._waiting.appendleft((key, pcm[len(part) :]))
        return taken


class Encoder:
    """Encodes samples as MP3. Belongs to one thread."""

    def __init__(self) -> None:
        import av  # noqa: PLC0415 - loaded only if there are listeners

        self._av = av
        made: Any = av.CodecContext.create("libmp3lame", "w")
        self._codec: AudioCodecContext = made
        made.sample_rate, made.layout, made.format = RATE_HZ, "mono", "fltp"
        made.bit_rate = BIT_RATE
        # A frame that borrows bits from earlier frames could not be the first.
        made.options = {"reservoir": "0"}
        self._at = 0

    def encode(self, pcm: Pcm) -> bytes:
        """Return the next frames of the stream; `pcm` has a multiple of FRAME samples."""
        sent = b""
        for start in range(0, len(pcm), FRAME):
            samples = np.ascontiguousarray(pcm[None, start : start + FRAME])
            frame = self._av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
            # Times grow without a gap, since the encoder treats a jump as lost sound.
            frame.sample_rate, frame.pts = RATE_HZ, self._at
            self._at += FRAME
            # There may be no packet or several, since the encoder delays frames.
            sent += b"".join(map(bytes, self._codec.encode(frame)))
        return sent
