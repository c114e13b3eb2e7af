"""The queue between PortAudio's thread and the thread that reads blocks."""

from __future__ import annotations

import contextlib
import queue
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE

QUEUE_S = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """The frames of one PortAudio callback."""

    position: int
    """The number of the first frame since the device was opened, lost ones counted."""
    frames: NDArray[np.float32]
    """Shape (n, channels)."""
    arrived_s: float

    @property
    def end(self) -> int:
        """The number of the frame that should come next."""
        return self.position + len(self.frames)


class CaptureQueue:
    """About 10 s of chunks. A full queue drops its oldest, which leaves a gap in the positions."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.overflows = 0
        # Without a limit of its own, which would refuse the newest: `put` drops the oldest.
        self._chunks: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
        self._position = 0
        self._arrived_s = 0.0

    def callback(self, frames: NDArray[np.float32], _count: int, _time: Any, status: Any) -> None:
        """Queue the frames of a callback; never waits, since PortAudio would lose audio."""
        # A copy: PortAudio uses the same buffer for the next callback.
        self.put(frames.copy(), time.monotonic(), overflowed=bool(status.input_overflow))

    def put(self, frames: NDArray[np.float32], arrived_s: float, *, overflowed: bool) -> None:
        """Queue frames. After an overflow the position jumps by about the frames lost."""
        if overflowed:
            self.overflows += 1
            # PortAudio does not say how much was lost; the time between two callbacks does.
            if self._arrived_s:
                lost = round((arrived_s - self._arrived_s) * self.rate) - len(frames)
                # At least a block: the clock need not show the gap, and there is one.
                self._position += max(lost, self.rate * BLOCK_SAMPLES // SAMPLE_RATE)
        chunk = Chunk(self._position, frames, arrived_s)
        self._position, self._arrived_s = chunk.end, arrived_s
        self._chunks.put(chunk)
        if self._chunks.qsize() * len(frames) > QUEUE_S * self.rate:
            with contextlib.suppress(queue.Empty):  # the reader was quicker
                self._chunks.get_nowait()

    def get(self, timeout_s: float) -> Chunk | None:
        """Return the oldest chunk, None when there will be no more. Raises queue.Empty."""
        return self._chunks.get(timeout=timeout_s)

    def finish(self) -> None:
        """End the queue: the stream has ended or was closed."""
        self._chunks.put(None)
