"""The protocols of audio sources and of speech detectors."""

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
        """Samples so far that were not finite numbers and were replaced by silence."""

    def open(self) -> None:
        """Claim the device or file. Raises AudioError."""

    # For one reader: each block of an opening is handed out once.
    def blocks(self) -> Iterator[AudioBlock]:
        """Yield blocks until the source ends or is closed. Raises AudioLostError.

        After AudioLostError, `open` may be called again; `start_sample` then jumps by the gap.
        """

    # From another thread: the reader itself may be waiting in `blocks` for seconds.
    def close(self) -> None:
        """End `blocks` from any thread; harmless when called twice."""


class SpeechDetector(Protocol):
    """A voice activity model; its answer depends on what it heard before."""

    def load(self) -> None:
        """Load the model. Raises ModelError."""

    def probability(self, pcm: Pcm) -> float:
        """Return the probability in 0..1 that these 512 samples are speech. Raises EngineError."""

    def reset(self) -> None:
        """Forget what was heard, after a gap."""


class SongDetector(Protocol):
    """Tells song from speech; its answer depends on what it heard before."""

    def load(self) -> None:
        """Load what it needs. Raises ModelError."""

    # Asked with every block, since it hears all of them: to skip one is a gap.
    def probability(self, pcm: Pcm, speech: float) -> float | None:
        """Return how likely the last two seconds were song, 0..1; None where no look is due.

        Takes 512 samples, and the probability that they are speech.
        """

    def reset(self) -> None:
        """Forget what was heard, after a gap."""
