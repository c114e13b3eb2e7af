"""Placeholders for engines that cannot be made: they tell why when their thread loads them."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.types import Pcm, Translation
from pipeline.engines.protocols import PLAIN, TranslationRequest, never


class _Broken:
    """Raises `error` when it is loaded."""

    name = ""

    def __init__(self, error: ModelError | ConfigError) -> None:
        self._error = error
        # Set by workers as on every engine, and never asked.
        self.is_cancelled: Callable[[], bool] = never

    def load(self) -> None:
        """Raises ModelError, ConfigError."""
        raise self._error


class BrokenTranslator(_Broken):
    """A Translator whose files are broken."""

    deadline_s = 0.0
    degraded_reason = ""

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:  # noqa: ARG002 - the protocol's
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)


class BrokenSpeaker(_Broken):
    """A Speaker that cannot be had: a service without a voice has captions all the same."""

    def speak(self, text: str, lang: str, rate: float) -> Pcm:  # noqa: ARG002 - the protocol's
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)
