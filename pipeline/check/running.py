"""Check a running service with the engines, microphone and folders that it uses.

For the console. Nothing is loaded a second time: most machines have no room for two copies of the
models, and captions come from the loaded ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import psutil

from pipeline.check.audio import Heard
from pipeline.check.audio import judge as judge_sound
from pipeline.check.checks import standing_checks
from pipeline.check.engines import another, faster, runs, try_recognizer, try_translator
from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineCancelledError, EngineError, ModelError
from pipeline.core.formats import human_size
from pipeline.core.languages import language
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.process.sharing import process_of
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.models.identity import fingerprint
from pipeline.models.registry import Role
from pipeline.tuning.plan import HEADROOM_BYTES
from pipeline.workers.base import Engines

Listen = Callable[[float], Heard]
"""Listens for so many seconds. Raises AudioError (audio-lost, audio-paused)."""

LISTEN_S = 5.0
"""The time to say a sentence into the microphone."""

_TRANSLATORS: tuple[Role, ...] = ("marian", "gemma")


class RunningChecks:
    """The checks of a running service; each is quick, and none starts or stops an engine."""

    def __init__(self, settings: Settings, engines: Engines, listen: Listen) -> None:
        """Check the engines of every target language, and the audio from `listen`."""
        self._settings = settings
        self._engines = engines
        self._listen = listen

    def checks(self) -> Iterator[Check]:
        """Yield the checks; the microphone last, since somebody has to speak for it."""
        yield from standing_checks(self._settings)
        recognizer, source = self._engines.recognizer, self._settings.translate.source
        ask = partial(try_recognizer, "stt", recognizer, source)
        yield from self._check_engine("stt", recognizer, ask)
        every = self._settings.for_each_target()
        # Both lists have the targets in the order of the settings.
        for narrowed, target in zip(every, self._engines.targets, strict=True):
            translate = narrowed.translate
            found: dict[str, Translator | None] = {translate.final.engine: target.final}
            # Set last: if Marian also makes the finals, there is no other translator.
            found[translate.partial.engine] = target.partial
            lang = "" if narrowed is self._settings else target.lang
            for role in _TRANSLATORS:
                if (translator := found.get(role)) is not None:
                    ask = partial(self._translate, role, translator, target.lang)
                    yield from self._check_engine(role, translator, ask, lang)
        yield Check("memory", "Looking at the memory", self._memory)
        doing = f"Speak into the microphone: listening for {LISTEN_S:g} s"
        yield Check(
            "level", doing, lambda: judge_sound(self._listen(LISTEN_S), self._engines.source.name)
        )

    def _check_engine(
        self, role: Role, engine: Recognizer | Translator, ask: Callable[[], Passed], lang: str = ""
    ) -> Iterator[Check]:
        """Yield the checks of an engine; `lang` is that of an extra target."""
        process = process_of(engine)
        if process is None:
            return  # only a process may be used from several threads
        name = "the recognizer" if role == "stt" else role.title()
        key, into = (f"{role}-{lang}", f" for {language(lang).name}") if lang else (role, "")
        look = partial(self._look, process)
        yield Check(f"model-{key}", f"Looking at {name}{into}", look, (), another(role))
        doing = f"Trying {name}{into} with a sentence"
        yield Check(f"golden-{key}", doing, ask, (f"model-{key}",), faster(role))

    def _look(self, process: EngineProcess) -> Passed:
        """Report which model runs. Raises EngineError if none runs at present."""
        # No waiting: a check reports the present state, and can be repeated.
        if process.pid is None:
            why = (process.degraded_reason or "not loaded").rstrip(".")
            message = f"{process.name} does not run: {why}."
            raise EngineError("engine-gone", message, "It is started again by itself; wait.")
        memory = human_size(process.memory_bytes)
        message = f"{process.name} ({fingerprint(process.spec.model)}) runs, {memory}."
        fix = "Start the program again before the service; if it stays so, see its log."
        return runs(process, message, fix, "engine-degraded")

    def _translate(self, role: Role, translator: Translator, lang: str) -> Passed:
        try:
            return try_translator(role, translator, self._settings.translate.source, lang)
        except EngineCancelledError:  # captions come first
            fix = "Check again in a pause."
            return Passed("Not tried: somebody spoke meanwhile.", fix, "check-interrupted")

    def _memory(self) -> Passed:
        free = psutil.virtual_memory().available
        used = sum(engine.memory_bytes for _, engine in self._engines.by_stage())
        memory = f"The engines hold {human_size(used)}, {human_size(free)} is free"
        # The engines are loaded already: only growth during the service has to fit.
        if free < HEADROOM_BYTES:
            fix = "Close other programs, or choose smaller models."
            raise ModelError("memory-short", f"{memory}.", fix)
        return Passed(f"{memory}.")
