"""Protocols of the engines: speech to text, text to text in another language, text to speech.

Each engine's file imports one heavy library, inside `load` (or `open`), so that importing this
package is cheap. An engine belongs to one thread; none is thread-safe.
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
    """Return False: the default of an engine's `is_cancelled`."""
    return False


class Recognizer(Protocol):
    """Speech to text."""

    hotwords: str
    """Words to listen for, separated by commas; may change between calls."""

    is_cancelled: Callable[[], bool]
    """Called between two steps: if it returns True, `recognize` raises EngineCancelledError."""

    @property
    def name(self) -> str:
        """Engine and model, for records."""

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, "" if it is not."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError.

        A partial is forced to begin with the tokens whose ids are `prefix`: the committed prefix
        of an earlier partial.
        """


# Checked with isinstance: a recognizer of one language may lack the attribute.
@runtime_checkable
class MultilingualRecognizer(Protocol):
    """A recognizer of several languages, of which one can be selected."""

    lang: str
    """The language to recognize; may change between calls; "" is the first."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """The options of a translation; an engine ignores those that it does not support."""

    on_text: Callable[[str], None] | None = None
    """Gets the growing text."""
    draft: str = ""
    """A faster translator's text."""
    standing: Standing | None = None
    """The committed part of the caption on screen; how much of it is kept depends on the
    translator's bias."""
    wanted: tuple[WantedTerm, ...] = ()
    """Church words of the text; missing translations of them are inserted where they fit."""
    rivals: tuple[str, ...] | None = None
    """Translations by other engines. If set, several translations, these included, are judged and
    returned as `alternatives`. None: one translation is enough."""
    previous: SentencePair | None = None
    """The sentence right before: it decides what "it" and "so do I" mean."""


PLAIN = TranslationRequest()
"""No options."""


class Translator(Protocol):
    """Text to text in another language."""

    deadline_s: float
    """Seconds after which `translate` gives up, unless always fast; may change between calls."""

    is_cancelled: Callable[[], bool]
    """Called between two tokens, unless the engine is always fast: if it returns True, `translate`
    raises EngineCancelledError."""

    @property
    def name(self) -> str:
        """Short engine name: `marian`, `gemma`."""

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, such as an unusable GPU; "" if it is not."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text`. Raises EngineError."""


@dataclass(frozen=True, slots=True)
class TargetEngines:
    """The translators of a target language."""

    lang: str
    partial: Translator | None
    final: Translator | None


class Speaker(Protocol):
    """Text to speech."""

    @property
    def name(self) -> str:
        """Short engine name: `kokoro`, `espeak`."""

    def load(self) -> None:
        """Load the model and warm it up. Raises ModelError."""

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """Return `text` as speech at 24 kHz, shape (n,); empty if nothing can be spoken.

        `rate` 1.25 is a quarter faster. Raises EngineError.
        """


# Checked with isinstance: a server cannot score.
@runtime_checkable
class Scorer(Protocol):
    """A quick translator that can score translations; any thread may call it."""

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """Return how likely each of `targets` is as a translation of `text`, said after `previous`.

        Each result is the mean log-probability of the tokens, and that of the least likely token.
        Raises EngineError.
        """


def until_deadline(engine: Translator) -> Callable[[], None]:
    """Return a check that raises EngineError (`final-late`) once the engine's deadline, counted
    from now, is over, and EngineCancelledError once the engine is cancelled.
    """
    # Read once: the deadline may change between calls, but not within one.
    allowed_s = engine.deadline_s
    until_s = time.monotonic() + allowed_s

    def check() -> None:
        # First: for an unwanted text, lateness does not matter.
        if engine.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "The translation is not wanted.")
        if time.monotonic() > until_s:
            raise EngineError("final-late", f"No translation within {allowed_s:g} s.")

    return check
