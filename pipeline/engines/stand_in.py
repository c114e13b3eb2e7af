"""A quick translator on a server, and a local one that steps in while the server is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.engines.openai import OpenAi
from pipeline.engines.protocols import Scorer, Translator, never

_FIRST_S, _MOST_S = 5.0, 60.0
"""How long a server that failed is left alone: at first, and at most; doubled in between."""
_SHARE = 0.6
"""Of the time that a translation may take, what the server gets: the local one needs the rest."""


class StandIn:
    """A Translator that asks a server, and the local translator where that fails.

    It stays degraded until the server has answered again; each translation names who made it.
    """

    name = OpenAi.name
    kernels = ""
    gpu_layers = 0

    def __init__(self, server: OpenAi, local: Translator) -> None:
        self._server = server
        self._local = local
        self.deadline_s = server.deadline_s
        self.is_cancelled = never
        self.target = server.target  # may change between calls; the local one knows a single one
        self._rest_s = 0.0
        self._until_s = 0.0

    @property
    def degraded_reason(self) -> str:
        """Why the server is not used, and who stands in; "" while it is."""
        reason = self._server.degraded_reason.rstrip(".")
        return f"{reason}; {self._local.name} stands in on this machine" if reason else ""

    def load(self) -> None:
        """Load the local model, and see whether the server is there. Raises ModelError."""
        self._local.load()
        self._server.load()

    def translate(
        self,
        text: str,
        on_text: Callable[[str], None] | None = None,
        draft: str = "",
        standing: Standing | None = None,
        wanted: Sequence[WantedTerm] = (),
    ) -> Translation:
        """Translate `text`. Raises EngineError where the local translator fails too."""
        rest = (text, on_text, draft, standing, wanted)
        if time.monotonic() < self._until_s:
            return self._local.translate(*rest)
        self._server.deadline_s = _SHARE * self.deadline_s
        self._server.is_cancelled = self.is_cancelled
        self._server.target = self.target
        try:
            made = self._server.translate(*rest)
        except EngineCancelledError:
            raise
        except EngineError:
            # Twice 0 is 0: then it is the first wait.
            self._rest_s = min(_MOST_S, 2 * self._rest_s or _FIRST_S)
            self._until_s = time.monotonic() + self._rest_s
            return self._local.translate(*rest)
        self._rest_s = 0.0
        return made

    def score(self, text: str, target: str) -> tuple[float, float]:
        """Return what the local translator thinks of a translation. Raises EngineError."""
        judge = self._local if isinstance(self._local, Scorer) else self._server
        return judge.score(text, target)
