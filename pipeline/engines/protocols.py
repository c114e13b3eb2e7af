"""Protocols of the engines: speech to text, text to text in another language, text to speech.

A file here imports one heavy library, inside `load` (or `open`), so that importing this package
costs nothing. An engine belongs to one thread; nothing here is safe to share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Pcm, Recognition, Translation


def never() -> bool:
    """Return False: what `is_cancelled` of an engine is until somebody sets it."""
    return False


class Recognizer(Protocol):
    """Speech to text."""

    hotwords: str
    """Words to listen for, with commas between them; may change between calls."""

    is_cancelled: Callable[[], bool]
    """Asked between two steps: where it says so `recognize` gives up with an
    EngineCancelledError."""

    @property
    def name(self) -> str:
        """Engine and model, for records."""

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, "" when it is not."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError.

        A partial is made to begin with the tokens whose ids are `prefix`, those that an earlier
        partial's recognition had and that are committed.
        """


# Checked with isinstance: a recognizer of one language need not have the attribute.
@runtime_checkable
class MultilingualRecognizer(Protocol):
    """A recognizer that can be told which of several languages to hear."""

    lang: str
    """May change between calls; "" is the first."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """What is asked of a translation beside its text; an engine leaves out what it cannot do."""

    on_text: Callable[[str], None] | None = None
    """Gets the text so far as it grows."""
    draft: str = ""
    """A quicker translator's text."""
    standing: Standing | None = None
    """The committed part of the caption on screen; how much of it is kept depends on the
    translator's bias."""
    wanted: tuple[WantedTerm, ...] = ()
    """Church words of the text; their renderings are put in where they are missing and fit."""
    rivals: tuple[str, ...] | None = None
    """Translations by others: several are looked at and returned as `alternatives`, these among
    them. None: one translation is enough."""
    previous: SentencePair | None = None
    """What was said right before: it decides what "it" and "so do I" mean."""


PLAIN = TranslationRequest()
"""Nothing beside the text."""


class Translator(Protocol):
    """Text to text in another language."""

    deadline_s: float
    """Seconds after which `translate` gives up, unless always quick; may change between calls."""

    is_cancelled: Callable[[], bool]
    """Asked between two tokens, unless it is always quick: where it says so `translate` gives up
    with an EngineCancelledError."""

    @property
    def name(self) -> str:
        """Short engine name: `marian`, `gemma`."""

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, such as a GPU that could not be used; "" when it is not."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`. Raises EngineError."""


class Speaker(Protocol):
    """Text to speech."""

    @property
    def name(self) -> str:
        """Short engine name: `kokoro`, `espeak`."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """Return `text` as speech at 24 kHz, shape (n,); empty where nothing can be said.

        `rate` 1.25 is a quarter faster. Raises EngineError.
        """


# Checked with isinstance: what stands in for a server may be a translator that cannot judge.
@runtime_checkable
class Scorer(Protocol):
    """A quick translator that can judge translations; any thread may ask."""

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """Return how likely each of `targets` is as a translation of `text`, said after `previous`.

        The mean log-probability of its tokens, and that of the least likely one. Raises
        EngineError.
        """


def until_deadline(engine: Translator) -> Callable[[], None]:
    """Return what raises EngineError once the engine's time, from now on, is over (`final-late`)
    and EngineCancelledError once it is cancelled.
    """
    # Taken once: it may change between calls, and not within one.
    allowed_s = engine.deadline_s
    until_s = time.monotonic() + allowed_s

    def check() -> None:
        # First: of a text that nobody wants it does not matter that it is late.
        if engine.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "The translation is not wanted.")
        if time.monotonic() > until_s:
            raise EngineError("final-late", f"No translation within {allowed_s:g} s.")

    return check
