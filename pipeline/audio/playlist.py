"""Several audio files as one source, one after another with silence between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.audio.file import AudioFile
from pipeline.core.types import SAMPLE_RATE, AudioBlock

_SILENCE_SAMPLES = 512


class Playlist:
    """Plays files as `AudioFile` does; `start_sample` goes on from one to the next."""

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        name: str,
        pace: Literal["realtime", "fast"] = "realtime",
        pause_s: float = 2.0,
    ) -> None:
        self.name = name
        self._files = [AudioFile(path, pace=pace) for path in paths]
        self._pace = pace
        self._pause_s = pause_s
        self._closed = threading.Event()

    @property
    def dropped_blocks(self) -> int:
        """Always 0: a file waits for its reader."""
        return 0

    @property
    def bad_samples(self) -> int:
        """Samples so far that were not finite numbers and were played as silence."""
        return sum(file.bad_samples for file in self._files)

    def open(self) -> None:
        """Open all files, so that one that cannot be read is found at once. Raises AudioError."""
        self._closed.clear()
        for file in self._files:
            file.open()

    def blocks(self) -> Iterator[AudioBlock]:
        """Yield the blocks of all files and of the pauses. Raises AudioError."""
        start = 0
        for place, file in enumerate(self._files):
            for block in file.blocks() if not place else self._after_pause(file):
                if self._closed.is_set():
                    return
                # Each file counts from 0; the session's audio is one line.
                yield replace(block, start_sample=start)
                start += len(block.pcm)

    def close(self) -> None:
        """End `blocks` at once, from any thread."""
        self._closed.set()
        for file in self._files:
            file.close()

    def _after_pause(self, file: AudioFile) -> Iterator[AudioBlock]:
        """Yield silence, and then the file."""
        began_s = time.monotonic()
        for number in range(round(self._pause_s * SAMPLE_RATE / _SILENCE_SAMPLES)):
            # From the pause's beginning, not from the block before: lateness does not add up.
            due_s = began_s + (number + 1) * _SILENCE_SAMPLES / SAMPLE_RATE
            if self._pace == "realtime" and self._closed.wait(max(0.0, due_s - time.monotonic())):
                return
            yield AudioBlock(0, np.zeros(_SILENCE_SAMPLES, np.float32), time.monotonic())
        yield from file.blocks()
