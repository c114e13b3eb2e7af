"""What stands for an engine that cannot be had, until its thread loads it and tells why."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.core.types import Pcm, Translation
from pipeline.engines.protocols import PLAIN, TranslationRequest, never


class _Broken:
    """It says why (`error`) when it is to be loaded."""

    name = ""

    def __init__(self, error: ModelError | ConfigError) -> None:
        self._error = error
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
