"""The engines of a service, as its workers take them."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.audio.protocols import AudioSource, SongDetector, SpeechDetector
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.engines.process.sharing import process_of
from pipeline.engines.protocols import Recognizer, Speaker, Translator


@dataclass(frozen=True, slots=True)
class TargetEngines:
    """The translators of a target language."""

    lang: str
    partial: Translator | None
    final: Translator | None

    def stages(self, *, is_first: bool) -> tuple[str, str]:
        """Return the names of the threads to which the two belong, the quick translator's first."""
        # The first target's quick pass is made in the thread that has heard the words.
        if is_first:
            return "transcribe", "translate"
        return f"quick-{self.lang}", f"translate-{self.lang}"


@dataclass(frozen=True, slots=True)
class Engines:
    """Everything heavy: made by the engines' factory or by a test, loaded by the workers."""

    source: AudioSource
    detector: SpeechDetector
    recognizer: Recognizer
    targets: tuple[TargetEngines, ...]
    """Those of each target language, in the order of the settings."""
    compare: Translator | None = None
    """A second final translator, in rehearsals."""
    speaker: Speaker | None = None
    """Speaks the captions to who listens."""
    songs: SongDetector | None = None
    """Tells song from speech; without it only operators hold captions while there is song."""

    def by_stage(self) -> list[tuple[str, EngineProcess]]:
        """Return the engines in processes of their own, with the worker that each belongs to.

        One that several languages share belongs to the first of them.
        """
        places: list[tuple[str, object]] = [("transcribe", self.recognizer)]
        for number, target in enumerate(self.targets):
            quick, final = target.stages(is_first=number == 0)
            places += [(quick, target.partial), (final, target.final)]
        places.insert(3, ("compare", self.compare))
        places.append(("speech", self.speaker))
        found: dict[int, tuple[str, EngineProcess]] = {}
        for stage, engine in places:
            if (process := process_of(engine)) is not None:
                found.setdefault(id(process), (stage, process))
        return list(found.values())
