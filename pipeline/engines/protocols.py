"""What an engine is: four protocols. Each implementation lives in a file of its own.

A file here imports one heavy library, inside `load` (or `open`), so that importing this package
costs nothing. An engine belongs to one thread; nothing here is safe to share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from pipeline.core.types import AudioBlock, Pcm, Recognition, Translation


class AudioSource(Protocol):
    """Where audio comes from: a microphone or a file."""

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

    def blocks(self) -> Iterator[AudioBlock]:
        """Yield blocks until the source ends or is closed. Raises AudioLostError when it goes away.

        After AudioLostError, `open` may be called again; `start_sample` then goes on with a jump.
        """

    def close(self) -> None:
        """End `blocks` from any thread; harmless when called twice."""


class SpeechDetector(Protocol):
    """A voice activity model with memory."""

    def load(self) -> None:
        """Load the model. Raises ModelError."""

    def probability(self, pcm: Pcm) -> float:
        """Return the probability in 0..1 that these 512 samples are speech. Raises EngineError."""

    def reset(self) -> None:
        """Forget what was heard, after a gap."""


class Recognizer(Protocol):
    """Speech to text."""

    hotwords: str
    """Words to listen for, with commas between them; may change between calls."""

    @property
    def name(self) -> str:
        """Engine and model, for records."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def recognize(self, pcm: Pcm, *, final: bool) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError."""


class Translator(Protocol):
    """Text to text in another language."""

    deadline_s: float
    """After so long `translate` gives up, unless it is always quick; may change between calls."""

    @property
    def name(self) -> str:
        """Short engine name: `marian`, `gemma`."""

    @property
    def setback(self) -> str:
        """What had to be given up while loading, such as the GPU; empty when nothing."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def translate(
        self, text: str, on_text: Callable[[str], None] | None = None, draft: str = ""
    ) -> Translation:
        """Translate `text`. `on_text` gets the text so far as it grows. Raises EngineError.

        `draft` is a quicker translator's text: it may help with speed, never change the result.
        """
