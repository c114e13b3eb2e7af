"""One final translator for several target languages: they take turns at one model in memory.

Or at one server, which answers so many requests at a time and no more; there each language has a
translator of its own.

The first target comes first of all: what is being made for another is given up for it, and made
again later. The others take turns, those that waited longest first, and of those that came in one
round the one that most people watch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from pipeline.core.errors import EngineCancelledError, EngineGoneError
from pipeline.core.types import Translation
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.protocols import PLAIN, TranslationRequest, Translator, never

_LOOK_S = 0.05
"""How often who waits for a turn looks whether its text is still wanted."""


class Multilingual(Translator, Protocol):
    """A translator that can be asked for one language after the other."""

    target: str
    """The language to translate into; may change between calls."""


# Compared by identity: a request that looks the same may be another thread's.
@dataclass(eq=False, slots=True)
class _Request:
    """Somebody's wish for a turn."""

    by: LanguageTranslator
    round: int
    number: int
    is_preempted: bool = False

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """The lower, the sooner."""
        # Counted at each look: displays come and go while it waits.
        return not self.by.is_first, self.round, -self.by.watchers, self.number


class Turns:
    """Gives turns, to at most `most` at a time. Any thread may ask."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._changed = threading.Condition()
        # Guarded by it.
        self._waiting: list[_Request] = []
        self._at_work: list[_Request] = []
        self._round = self._number = 0

    @contextmanager
    def turn(self, by: LanguageTranslator) -> Iterator[Callable[[], bool]]:
        """Wait for a turn; give a function that says whether it is over already.

        Raises EngineCancelledError where the text is not wanted any more, EngineGoneError where no
        turn comes within the translator's deadline.
        """
        until_s = time.monotonic() + by.deadline_s
        with self._changed:
            self._number += 1
            # The round of its arrival: who comes back at once waits behind all who wait already.
            request = _Request(by, self._round + 1, self._number)
            self._waiting.append(request)
            try:
                self._make_way(request)
                while not self._is_next(request):
                    if by.is_cancelled():
                        raise EngineCancelledError("engine-cancelled", "It is not wanted.")
                    if time.monotonic() > until_s:
                        raise EngineGoneError("engine-busy", "No turn within the deadline.")
                    # With a limit: nobody notifies when a text is not wanted any more.
                    self._changed.wait(_LOOK_S)
                self._at_work.append(request)
                # The first target comes whenever it likes and must not push the others' round on.
                if not by.is_first:
                    self._round = max(self._round, request.round)
            finally:
                # On every way out: nobody behind one that stays in the list would ever be next.
                self._waiting.remove(request)
        try:
            # Read without the lock: it becomes true once and stays so.
            yield lambda: request.is_preempted
        finally:
            with self._changed:
                self._at_work.remove(request)
                self._changed.notify_all()

    def _make_way(self, request: _Request) -> None:
        others = [each for each in self._at_work if not each.by.is_first]
        if request.by.is_first and others and len(self._at_work) >= self._most:
            max(others, key=lambda each: each.rank).is_preempted = True

    def _is_next(self, request: _Request) -> bool:
        first = min(self._waiting, key=lambda each: each.rank)
        return len(self._at_work) < self._most and first is request


class LanguageTranslator:
    """A Translator into one language, which takes its turn at `engine` with those of others.

    `is_first`: of the first target. `load` may be called for each language: a process that has
    loaded, or refused its model, only says so.
    """

    def __init__(
        self, turns: Turns, engine: Multilingual, lang: str, *, is_first: bool = False
    ) -> None:
        self._turns = turns
        self.engine = engine
        self.lang = lang
        self.is_first = is_first
        self.watchers = 0
        """How many displays show this language; any thread may set it."""
        self.deadline_s = engine.deadline_s
        self.is_cancelled: Callable[[], bool] = never

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    @property
    def degraded_reason(self) -> str:
        """Why the engine is degraded, "" when it is not."""
        return self.engine.degraded_reason

    def load(self) -> None:
        """Load the engine. Raises ModelError, to all who ask."""
        self.engine.load()

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text` as soon as it is this language's turn. Raises EngineError.

        What is given up for the first target is begun again; the time that waits take counts for
        no deadline of the engine's own, and each wait has at most `deadline_s`.
        """
        engine = self.engine
        while True:
            with self._turns.turn(self) as is_over:
                engine.target = self.lang
                engine.deadline_s = self.deadline_s
                # Set at each turn, on one engine: its caller is another one every time.
                engine.is_cancelled = lambda: self.is_cancelled() or is_over()
                try:
                    return engine.translate(text, request)
                except EngineCancelledError:
                    # Given up for the first target only: the text is wanted, so it waits again.
                    if self.is_cancelled() or not is_over():
                        raise
                finally:
                    engine.is_cancelled = never


def process_of(engine: object) -> EngineProcess | None:
    """Return the process of an engine, or that which it takes turns at; None if it has none."""
    itself = engine.engine if isinstance(engine, LanguageTranslator) else engine
    return itself if isinstance(itself, EngineProcess) else None


def is_there(engine: object) -> bool:
    """Whether an engine can be asked now: its process has loaded, or it needs none."""
    process = process_of(engine)
    return process is None or process.pid is not None
