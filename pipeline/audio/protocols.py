"""The protocols of audio sources, speech detectors and song detectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pipeline.core.types import AudioBlock, Pcm


class AudioSource(Protocol):
    """A source of audio blocks: a microphone or a file."""

    @property
    def name(self) -> str:
        """The device's or the file's name, for people."""

    @property
    def dropped_blocks(self) -> int:
        """Blocks lost so far: the driver's overflows and a full queue."""

    @property
    def bad_samples(self) -> int:
        """Samples so far that were not finite and were replaced by silence."""

    def open(self) -> None:
        """Claim the device or file. Raises AudioError."""

    # For one reader: each block is yielded only once.
    def blocks(self) -> Iterator[AudioBlock]:
        """Yield blocks until the source ends or is closed. Raises AudioLostError.

        After AudioLostError, `open` may be called again; `start_sample` then jumps by the gap.
        """

    # Callable from another thread: the reader may be waiting in `blocks` for seconds.
    def close(self) -> None:
        """End `blocks` from any thread; harmless when called twice."""


class Detector(Protocol):
    """A model of sound; its result depends on the audio before."""

    def load(self) -> None:
        """Load the model. Raises ModelError."""

    def reset(self) -> None:
        """Forget the audio so far, after a gap."""


class SpeechDetector(Detector, Protocol):
    """A voice activity model."""

    def probability(self, pcm: Pcm) -> float:
        """Return the probability in 0..1 that these 512 samples are speech. Raises EngineError."""


class SongDetector(Detector, Protocol):
    """Distinguishes song from speech."""

    # Called for every block: a skipped block would be a gap.
    def probability(self, pcm: Pcm, speech: float) -> float | None:
        """Return the probability that the last two seconds were song, 0..1; None if not due.

        Takes 512 samples and the probability that they are speech.
        """
