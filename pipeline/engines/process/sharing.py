"""Share one final translator between target languages: they take turns at one model in memory.

Languages can also share a server with a limit of simultaneous requests; there each language has
its own translator.

The first target has priority: a translation for another target is cancelled for it, and repeated
later. The others take turns: those that have waited longest come first, and within one round the
language with the most displays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from pipeline.core.errors import EngineCancelledError, EngineGoneError
from pipeline.core.types import Translation
from pipeline.engines.output import Growing
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.protocols import PLAIN, TranslationRequest, Translator, never

_LOOK_S = 0.05
"""Seconds between two checks of a waiting request whether its text is still wanted."""


class Multilingual(Translator, Protocol):
    """A translator whose target language can change between calls."""

    target: str
    """The language to translate into; may change between calls."""


# Compared by identity: an equal request may belong to another thread.
@dataclass(eq=False, slots=True)
class _Request:
    """A request for a turn."""

    by: LanguageTranslator
    round: int
    number: int
    is_preempted: bool = False

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """Sort key of the request: the lowest is next."""
        # Computed at each check: the number of displays changes meanwhile.
        return not self.by.is_first, self.round, -self.by.watchers, self.number


class Turns:
    """Gives at most `most` turns at a time. Any thread may ask."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._changed = threading.Condition()
        # Guarded by `_changed`.
        self._waiting: list[_Request] = []
        self._at_work: list[_Request] = []
        self._round = self._number = 0

    @contextmanager
    def turn(self, by: LanguageTranslator) -> Iterator[Callable[[], bool]]:
        """Wait for a turn; yield a function that returns whether the turn was preempted.

        Raises EngineCancelledError if the text is no longer wanted, EngineGoneError if no turn
        comes within the translator's deadline.
        """
        until_s = time.monotonic() + by.deadline_s
        with self._changed:
            self._number += 1
            # The round of its arrival: a caller that returns at once queues behind all waiting.
            request = _Request(by, self._round + 1, self._number)
            self._waiting.append(request)
            try:
                others = [each for each in self._at_work if not each.by.is_first]
                if by.is_first and others and len(self._at_work) >= self._most:
                    max(others, key=lambda each: each.rank).is_preempted = True
                while len(self._at_work) >= self._most or request is not min(
                    self._waiting, key=lambda each: each.rank
                ):
                    if by.is_cancelled():
                        raise EngineCancelledError("engine-cancelled", "It is not wanted.")
                    if time.monotonic() > until_s:
                        raise EngineGoneError("engine-busy", "No turn within the deadline.")
                    # With a timeout: there is no notification when a text is no longer wanted.
                    self._changed.wait(_LOOK_S)
                self._at_work.append(request)
                # The first target comes at any time and must not advance the others' round.
                if not by.is_first:
                    self._round = max(self._round, request.round)
            finally:
                # In `finally`: a request left in the list would block all requests behind it.
                self._waiting.remove(request)
        try:
            # Read without the lock: it becomes true once and stays true.
            yield lambda: request.is_preempted
        finally:
            with self._changed:
                self._at_work.remove(request)
                self._changed.notify_all()


class LanguageTranslator:
    """A Translator into one language, which takes turns at `engine` with other languages.

    `is_first` marks the first target. `load` may be called for each language: a process that has
    already loaded or refused its model only reports that.
    """

    def __init__(
        self, turns: Turns, engine: Multilingual, lang: str, *, is_first: bool = False
    ) -> None:
        self._turns = turns
        self.engine = engine
        self.lang = lang
        self.is_first = is_first
        self.watchers = 0
        """Number of displays that show this language; any thread may set it."""
        self.deadline_s = engine.deadline_s
        self.is_cancelled: Callable[[], bool] = never

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, "" if it is not."""
        return self.engine.degraded_reason

    def load(self) -> None:
        """Load the engine. Raises ModelError in every caller."""
        self.engine.load()

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text` as soon as it is this language's turn. Raises EngineError.

        A translation that was cancelled for the first target is repeated. Waiting does not count
        towards the engine's own deadline; each wait takes at most `deadline_s`.
        """
        engine = self.engine
        if request.on_text is not None:
            request = replace(request, on_text=Growing(request.on_text).to)
        while True:
            with self._turns.turn(self) as is_over:
                engine.target = self.lang
                engine.deadline_s = self.deadline_s
                # Set at each turn: the shared engine has a different caller every time.
                engine.is_cancelled = lambda: self.is_cancelled() or is_over()
                try:
                    return engine.translate(text, request)
                except EngineCancelledError:
                    # Only preempted by the first target: the text is still wanted, so wait again.
                    if self.is_cancelled() or not is_over():
                        raise
                finally:
                    engine.is_cancelled = never


def process_of(engine: object) -> EngineProcess | None:
    """Return the process of an engine, own or shared; None if it has none."""
    itself = engine.engine if isinstance(engine, LanguageTranslator) else engine
    return itself if isinstance(itself, EngineProcess) else None


def is_there(engine: object) -> bool:
    """Whether an engine can be called now: its process has loaded, or it needs none."""
    process = process_of(engine)
    return process is None or process.pid is not None
