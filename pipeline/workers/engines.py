"""The engines of a service, as its workers take them."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.audio.protocols import AudioSource, SongDetector, SpeechDetector
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.process.sharing import process_of
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.workers.languages import TargetEngines


@dataclass(frozen=True, slots=True)
class Engines:
    """Everything heavy: made by the engines' factory or by a test, loaded by the workers."""

    source: AudioSource
    detector: SpeechDetector
    recognizer: Recognizer
    partial: Translator | None
    final: Translator | None
    compare: Translator | None = None
    """A second final translator, in rehearsals."""
    songs: SongDetector | None = None
    """Tells song from speech; without it only operators hold captions while there is song."""
    further: tuple[TargetEngines, ...] = ()
    """Those of each further target language, in the order of the settings."""

    def by_stage(self) -> list[tuple[str, EngineProcess]]:
        """Return the engines in processes of their own, with the worker that each belongs to.

        One that several languages share belongs to the first of them.
        """
        places: list[tuple[str, object]] = [
            *(("transcribe", self.recognizer), ("transcribe", self.partial)),
            *(("translate", self.final), ("compare", self.compare)),
        ]
        for target in self.further:
            places += target.by_stage()
        found: dict[int, tuple[str, EngineProcess]] = {}
        for stage, engine in places:
            if (process := process_of(engine)) is not None:
                found.setdefault(id(process), (stage, process))
        return list(found.values())
