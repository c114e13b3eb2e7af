"""The program's own path from a recognized text to its captions, for one target language.

Workers, engines, rules and judge are the program's, without its threads.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.church.fidelity.doubt import Judge, in_use
from pipeline.church.fidelity.finals import checked
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.errors import UsageError
from pipeline.core.reports import Fault, Report
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript
from pipeline.dictionary.matcher import correct
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.engines.protocols import Scorer
from pipeline.workers.address import Addressing
from pipeline.workers.degradation import Degradation
from pipeline.workers.queues import DRAFT_LIMIT, DraftQueue
from pipeline.workers.quick import QuickPass
from pipeline.workers.steps import as_final
from pipeline.workers.translator import Translate
from scripts.support.records import utterance

_ANY_TIME = {
    # Otherwise a busy machine's late result would be counted as a mistake of the translator.
    "translate.partial.deadline_s": 60.0,
    "translate.final.deadline_s": 600.0,
    "translate.final.stream": False,  # nobody watches
}


def settings_for(lang: str, given: Mapping[str, str]) -> Settings:
    """Return the current settings plus the given ones, for one language, without time limits.

    Raises ConfigError.
    """
    flags = {**given, "translate.target": lang, "translate.targets": (), **_ANY_TIME}
    return load(flags=flags).settings


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions of one recognized text."""

    draft: Caption
    """The quick translator's caption, compared and judged as if it were the only translator."""
    final: Caption
    """The final translator's caption, compared with the source and judged."""


@dataclass
class Chain:
    """Dictionary, quick and final translator, church truth and judge; load it before use."""

    settings: Settings
    faults: list[Fault] = field(default_factory=list)
    """The workers' reports."""

    def __post_init__(self) -> None:
        """Make the parts. Raises StarkError."""
        partial = factory.partial_translator(self.settings)
        final = factory.final_translator(self.settings)
        if partial is None or final is None:
            message = "The benchmark of meaning compares a quick translator with a final one."
            raise UsageError("translator-none", message, "Give translate.partial and .final each.")
        self._dictionary = Dictionary(self.settings)
        self._judge = Judge(in_use(Path(self.settings.session.directory)))
        self._drafts = DraftQueue(DRAFT_LIMIT)
        self._shown: list[Caption] = []
        self._said = 0
        self._last = ""
        degradation = Degradation()
        self._quick = QuickPass(
            settings=self.settings,
            translator=partial,
            drafts=self._drafts,
            degradation=degradation,
            emit=self._take,
            stage="transcribe",
            shed=False,
            glossaries=self._dictionary.glossaries,
        )
        self._translate = Translate(
            settings=self.settings,
            translator=final,
            drafts=self._drafts,
            degradation=degradation,
            emit=self._take,
            glossaries=self._dictionary.glossaries,
            scorer=partial if isinstance(partial, Scorer) else None,
        )

    def load(self) -> None:
        """Load the engines. Raises ModelError, even if the program could run without the engine."""
        self._quick.load()
        self._translate.load()
        if self.faults:
            raise UsageError("model-broken", self.faults[0].message)

    def captions(self, heard: Recognition, before: str = "") -> Captions:
        """Return the captions of a whole recognized utterance that follows the text `before`."""
        if not before or before != self._last:
            # The previous sentence of the list is by another speaker.
            self._translate.previous.forget()
            self._translate.addressing, self._quick.addressing = Addressing(), Addressing()
            if before:
                self._caption(Recognition(before))
        self._last = heard.text
        draft, final = self._caption(heard)
        return Captions(self._judged(as_final(draft)), self._judged(final))

    def _caption(self, heard: Recognition) -> tuple[Caption, Caption]:
        transcript = self._transcript(heard)
        self._quick.commits.prefix(transcript.utterance, self.settings.stt, transcript.lang)
        self._quick.take(transcript)
        if (waiting := self._drafts.get_nowait()) is not None:
            self._translate.take(waiting)
        draft, final = self._shown
        self._shown.clear()
        return draft, final

    def _transcript(self, heard: Recognition) -> Transcript:
        """Correct the recognized text, as the transcribe thread does."""
        self._said += 1
        closed_s = time.monotonic()
        said = utterance(self._said, 0.0, 1.0, samples=SAMPLE_RATE, closed_s=closed_s)
        lang, text = self.settings.translate.source, heard.text
        raw = Transcript(said, lang, text, text, heard)
        return correct(self._dictionary.lexicon_for(text), raw)

    def _judged(self, final: Caption) -> Caption:
        """Compare and judge a final, as `WorkerGroup` does."""
        glossary = self._dictionary.glossaries.of(final.lang)
        final = checked(final, self.settings.church, glossary)
        return self._judge.judged(final) if self.settings.church.doubt else final

    def _take(self, report: Report) -> None:
        match report:
            case Caption():
                self._shown.append(report)
            case Fault():
                self.faults.append(report)
            case _:
                pass
