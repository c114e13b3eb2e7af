"""The compare thread: in a rehearsal, a second final translator beside the first.

It begins when the final is out, and its process has a low priority (`SECOND` in
`engines.specification`), so that captions hardly notice it.
What it has no time for is left out and counted.
"""

from __future__ import annotations

import queue
import time
from pathlib import Path

from pipeline.core.errors import EngineError, EngineGoneError
from pipeline.core.reports import Emit, Fault
from pipeline.core.types import Caption, Comparison, Span
from pipeline.engines.protocols import Translator
from pipeline.workers.base import Worker

LIMIT = 16
"""Captions that may wait."""


class Compare(Worker):
    """Translates the source of finals once more. `limit` 0 lets any number wait."""

    def __init__(
        self, *, lang: str, translator: Translator, model: str, emit: Emit, limit: int = LIMIT
    ) -> None:
        super().__init__("compare", emit)
        self._lang = lang
        self._translator = translator
        self._model = Path(model).name
        self._limit = limit
        # Unbounded, as the end must always go in; `put` keeps the limit.
        self._finals: queue.Queue[tuple[int, str, str] | None] = queue.Queue()
        self._useless = False
        self.left_out = 0
        """Captions not compared: too many waited, or the translator fails."""

    def put(self, caption: Caption) -> None:
        """Hand a final over; never waits. Called by one thread."""
        if self._limit and self._finals.qsize() >= self._limit:
            self.left_out += 1
        else:  # without the samples that the caption holds on to
            self._finals.put((caption.id, caption.transcript.text, caption.text))

    def end(self) -> None:
        """Say that no final will follow; harmless when repeated."""
        self._finals.put(None)

    def load(self) -> None:
        """Load the translator. A broken one is reported, and nothing is compared."""
        self._useless = not self.may_use(self._translator)

    def work(self) -> None:
        """Compare until the end comes."""
        while (final := self._finals.get()) is not None:
            if self._useless:
                self.left_out += 1
            else:
                self._compare(*final)
        if self.left_out:
            message = f"{self.left_out} captions were not compared."
            self.emit(Fault(self.name, "compare-incomplete", message))

    def _compare(self, caption_id: int, source: str, final: str) -> None:
        start_s = time.monotonic()
        try:
            translation = self._translator.translate(source)
        except EngineError as error:
            self.left_out += 1
            # Of that its process's keeper tells.
            if not isinstance(error, EngineGoneError):
                self.fault(error)
                self._useless = self.too_many_failures
            return
        self.note_success()
        span = Span(start_s, time.monotonic())
        self.emit(Comparison(caption_id, self._lang, final, self._model, translation, span))
