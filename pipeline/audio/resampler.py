"""Turn captured frames of any rate and channel count into blocks of 512 mono samples at 16 kHz.

Pure: no threads, no clock. The resampler (soxr's stream) keeps its state between calls, because
resampling each piece separately leaves a click at every boundary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock, Pcm

_LOUDEST = 1e6
"""120 dB above full scale: larger values are corrupt and would overflow in the resampler."""


class BlockResampler:
    """Turns a stream of frames into blocks, and counts samples through gaps.

    `channel` 1 is the first, 0 the mean of all. `start_sample` is the number of the first sample.
    The same frames give the same blocks, however they are divided among calls.
    """

    def __init__(self, rate: int, *, channel: int, start_sample: int = 0) -> None:
        self.rate = rate
        self.bad_samples = 0
        """Samples that were not finite, or far beyond full scale, and were replaced by 0."""
        self._channel = channel
        self._origin = start_sample
        self._start = start_sample
        self._frames = 0
        self._held: Pcm = np.zeros(0, np.float32)
        self._resampler: Any = None
        # At 16 kHz no filter is needed, so there is no filter delay.
        if rate != SAMPLE_RATE:
            import soxr  # noqa: PLC0415

            self._resampler = soxr.ResampleStream(
                rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ"
            )

    @property
    def position(self) -> int:
        """The number of the next sample, counted at the input."""
        # Computed from the first frame each time: rounding errors must not add up.
        return self._origin + round(self._frames * SAMPLE_RATE / self.rate)

    def push(self, frames: NDArray[np.float32], arrived_s: float = 0.0) -> Iterator[AudioBlock]:
        """Yield the blocks that `frames`, shape (n, channels), complete.

        `arrived_s` is the arrival time of the last frame; each block's time is derived from it.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # then it is not finite: bad
            mono = frames.mean(axis=1) if self._channel == 0 else frames[:, self._channel - 1]
        bad = ~(np.abs(mono) <= _LOUDEST)  # this form is true for nan as well
        if bad.any():
            self.bad_samples += int(np.count_nonzero(bad))
            mono = np.where(bad, np.float32(0), mono)
        self._frames += len(frames)  # counted at the input: the resampler buffers some
        if self._resampler is not None:
            mono = self._resampler.resample_chunk(np.ascontiguousarray(mono))
        yield from self._cut(mono, arrived_s)

    def skip(self, frames: int) -> int:
        """Jump over lost frames; return the number of samples (16 kHz) lost.

        That includes the incomplete block before the gap: no block may span one.
        """
        self._frames += frames
        lost = self.position - self._start
        self._start = self.position
        self._held = self._held[:0]
        if self._resampler is not None:
            # Its buffered samples are from before the gap and must not mix with the next ones.
            self._resampler.clear()
        return lost

    def flush(self) -> Iterator[AudioBlock]:
        """Yield the remaining blocks, the last one filled up with zeros. Nothing may follow."""
        rest = self._held[:0]
        if self._resampler is not None:
            rest = self._resampler.resample_chunk(rest, last=True)
        missing = -(len(self._held) + len(rest)) % BLOCK_SAMPLES
        yield from self._cut(np.concatenate([rest, np.zeros(missing, np.float32)]), 0.0)

    def _cut(self, mono: Pcm, arrived_s: float) -> Iterator[AudioBlock]:
        samples = np.concatenate([self._held, mono])
        whole = len(samples) // BLOCK_SAMPLES * BLOCK_SAMPLES
        self._held = samples[whole:]
        for offset in range(0, whole, BLOCK_SAMPLES):
            start = self._start
            self._start += BLOCK_SAMPLES
            # Not below 0: the zeros of the last block come after all input.
            ago_s = max(0, self.position - self._start) / SAMPLE_RATE
            yield AudioBlock(start, samples[offset : offset + BLOCK_SAMPLES], arrived_s - ago_s)
