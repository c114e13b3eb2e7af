"""A placeholder for an engine that cannot be made: it tells why when its thread loads it."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.types import Pcm, Translation
from pipeline.engines.protocols import PLAIN, TranslationRequest, never


class BrokenEngine:
    """A Translator or a Speaker that cannot be had."""

    name = ""
    deadline_s = 0.0
    degraded_reason = ""

    def __init__(self, error: ModelError | ConfigError) -> None:
        self._error = error
        # Set by workers as on every engine, and never asked.
        self.is_cancelled: Callable[[], bool] = never

    def load(self) -> None:
        """Raises ModelError, ConfigError."""
        raise self._error

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:  # noqa: ARG002 - the protocol's
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)

    def speak(self, text: str, lang: str, rate: float) -> Pcm:  # noqa: ARG002 - the protocol's
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)
