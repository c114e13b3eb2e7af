"""The threads: listen, transcribe, translate. Each owns its engines and reports to the main thread.

Every worker loads its engines in its own thread, reports that, waits for `begin`, works until its
input ends, and reports how it ended. An unexpected error ends the daemon; systemd restarts it.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.audio.protocols import AudioSource, SongDetector, SpeechDetector
from pipeline.core.errors import EngineError, ModelCrashError, ModelError, without_resources
from pipeline.core.reports import Emit, Fault, WorkerEnded, WorkerReady
from pipeline.core.threads import Thread
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.process.sharing import process_of
from pipeline.engines.protocols import Recognizer, Speaker, TargetEngines, Translator

FAULTS_IN_A_ROW = 5
"""After so many engine errors without a success between them, the engine counts as gone."""


def is_unusable(error: ModelError) -> bool:
    """Whether a model exists where the settings say, but cannot be used."""
    return isinstance(error, ModelCrashError) or error.code == "model-broken"


class Worker(Thread):
    """A daemon thread with a load step and a report of its end."""

    def __init__(self, name: str, emit: Emit) -> None:
        super().__init__(self._live, name)
        self.emit = emit
        self._begun = threading.Event()
        self._faults = 0

    @property
    def begun(self) -> bool:
        """Whether it may work."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Let the worker start its work, after every worker is ready."""
        self._begun.set()

    def _live(self) -> None:
        error: BaseException | None = None
        try:
            self.load()
            self.emit(WorkerReady(self.name))
            # A stop during the start sets it too; otherwise this thread would wait forever.
            self._begun.wait()
            self.work()
        except BaseException as unexpected:  # noqa: BLE001 - the thread's one way to tell anybody
            error = without_resources(unexpected) or unexpected
        self.emit(WorkerEnded(self.name, error))

    @abstractmethod
    def load(self) -> None:
        """Load the engines. Raises ModelError."""

    @abstractmethod
    def work(self) -> None:
        """Work until the input ends."""

    def fault(self, error: EngineError) -> None:
        """Report an engine error that costs one utterance."""
        self._faults += 1
        self.emit(Fault(self.name, error.code, error.message))

    def may_use(self, translator: Translator) -> bool:
        """Load a translator; report one that is broken. Raises ModelError for wrong settings."""
        try:
            translator.load()
        except ModelError as error:
            if not is_unusable(error):
                raise
            self.emit(Fault(self.name, error.code, error.message))
            # A wrong setting ends the start; a broken model only costs this engine.
            return False
        return True

    def note_success(self) -> None:
        """Note a success; earlier errors no longer count."""
        self._faults = 0

    @property
    def too_many_failures(self) -> bool:
        """Whether too many engine errors came in a row."""
        return self._faults >= FAULTS_IN_A_ROW


_REMEMBERED = 256
"""Number of remembered work intervals: minutes of partials."""


class WorkLog:
    """The time intervals that one thread spent with an engine. Any thread may read them."""

    def __init__(self) -> None:
        self._done: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._began_s: float | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Note that the engine works while the block lasts."""
        began_s = self._began_s = time.monotonic()
        try:
            yield
        finally:
            # Before the next line: in between `since` may find the interval twice, never miss it.
            self._done.append((began_s, time.monotonic()))
            self._began_s = None

    def since(self, from_s: float, now_s: float) -> float:
        """Return the seconds of work between `from_s` and `now_s` (monotonic)."""
        # Read before `_done`: an interval that ends in between is found there.
        began_s = self._began_s
        ends_s = {} if began_s is None else {began_s: now_s}
        # A copy, since the working thread appends meanwhile. The start time is the key, so an
        # interval that ends just now counts once.
        ends_s.update(self._done.copy())
        return sum(max(0.0, end - max(begin, from_s)) for begin, end in ends_s.items())


def stages(lang: str, *, is_first: bool) -> tuple[str, str]:
    """Return the names of the threads of a language's translators, the quick translator's first."""
    # The first target's quick pass runs in the transcribe thread.
    return ("transcribe", "translate") if is_first else (f"quick-{lang}", f"translate-{lang}")


@dataclass(frozen=True, slots=True)
class Engines:
    """All heavy parts: made by the engines' factory or by a test, loaded by the workers."""

    source: AudioSource
    detector: SpeechDetector
    recognizer: Recognizer
    targets: tuple[TargetEngines, ...]
    """The translators of each target language, in the order of the settings."""
    compare: Translator | None = None
    """A second final translator, in rehearsals."""
    speaker: Speaker | None = None
    """Speaks the captions to listeners."""
    songs: SongDetector | None = None
    """Distinguishes song from speech; without it only operators can hold captions during song."""

    def by_stage(self) -> list[tuple[str, EngineProcess]]:
        """Return the engines that have their own process, with the worker of each.

        An engine that several languages share belongs to the first of them.
        """
        places: list[tuple[str, object]] = [("transcribe", self.recognizer)]
        for number, target in enumerate(self.targets):
            quick, final = stages(target.lang, is_first=number == 0)
            places += [(quick, target.partial), (final, target.final)]
        # After the recognizer and the first target's two translators, with which it compares.
        places.insert(3, ("compare", self.compare))
        places.append(("speech", self.speaker))
        found: dict[int, tuple[str, EngineProcess]] = {}
        for stage, engine in places:
            if (process := process_of(engine)) is not None:
                found.setdefault(id(process), (stage, process))
        return list(found.values())
