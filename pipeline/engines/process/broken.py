"""Stands for a translator whose model's files are broken: it says so when it is to be loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.engines.protocols import never


class BrokenTranslator:
    """A Translator that cannot be loaded, because of `error`."""

    deadline_s = 0.0
    degraded_reason = ""

    def __init__(self, error: ModelError) -> None:
        self.name = ""
        self.is_cancelled: Callable[[], bool] = never
        self._error = error

    def load(self) -> None:
        """Raises ModelError."""
        raise self._error

    def translate(
        self,
        text: str,  # noqa: ARG002 - the protocol's
        on_text: Callable[[str], None] | None = None,  # noqa: ARG002
        draft: str = "",  # noqa: ARG002
        standing: Standing | None = None,  # noqa: ARG002
        wanted: Sequence[WantedTerm] = (),  # noqa: ARG002
    ) -> Translation:
        """Raises EngineError."""
        raise EngineError(self._error.code, self._error.message)
