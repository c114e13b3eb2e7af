"""The threads of one further target language: the same recognition, translated beside the first.

    transcribe -> TranscriptQueue -> quick-fr -> DraftQueue -> translate-fr

Each language has commit policy, queues, degradation and back-off of its own, so that one that is
slow or fails delays no other. One that nobody watches rests.
"""

from __future__ import annotations

import math
import queue
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pipeline.church.fidelity.doubt import DoubtModel, Judge
from pipeline.church.fidelity.finals import checked
from pipeline.config.schema import Settings
from pipeline.core.languages import language
from pipeline.core.reports import Emit, Rendition, Report, Retranslated
from pipeline.core.types import Caption, Utterance
from pipeline.dictionary.glossary_store import GlossaryStore
from pipeline.engines.protocols import Scorer, Translator
from pipeline.protocol.caption import CaptionMessage
from pipeline.workers.base import Worker
from pipeline.workers.degradation import Degradation, Rung, Waits
from pipeline.workers.queues import DRAFT_LIMIT, DraftQueue, Retranslation, TranscriptQueue
from pipeline.workers.quick import Quick, QuickPass
from pipeline.workers.translator import Translate


@dataclass(frozen=True, slots=True)
class TargetEngines:
    """The translators of a further target language."""

    lang: str
    partial: Translator | None
    final: Translator | None

    def by_stage(self) -> list[tuple[str, Translator | None]]:
        """Return each with the thread that it belongs to."""
        return [(f"quick-{self.lang}", self.partial), (f"translate-{self.lang}", self.final)]


class LanguageWorkers:
    """Translates what the transcribe thread hears into one further language."""

    def __init__(
        self,
        settings: Settings,
        engines: TargetEngines,
        *,
        emit: Emit,
        is_stale: Callable[[Utterance], bool],
        shed: bool,
        glossaries: GlossaryStore | None = None,
        judge: DoubtModel | None = None,
        sound_since_s: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """Make the threads. `settings` are as if this language were the only target.

        `shed`: the language may give up quality where it falls behind, and rest. `judge` says of
        each final how likely it is wrong; without one none is doubtful. `sound_since_s`: since when
        sound has waited for the recognizer (monotonic), infinity for none.
        """
        self.lang = engines.lang
        self._engines = engines
        self._settings = settings
        self._emit = emit
        self._shed = shed
        self._glossaries = glossaries
        self._judge = Judge(judge) if judge else None
        self._sound_since_s = sound_since_s
        self.degradation = Degradation()
        self._drafts = DraftQueue(DRAFT_LIMIT)
        self.transcripts = TranscriptQueue(self._has_time)
        self._quick = Quick(
            f"quick-{self.lang}",
            quick=QuickPass(
                settings=settings,
                translator=engines.partial,
                drafts=self._drafts if engines.final else None,
                degradation=self.degradation,
                emit=self._tell,
                stage=f"quick-{self.lang}",
                shed=shed,
                glossaries=glossaries,
                is_further=True,
            ),
            transcripts=self.transcripts,
            degradation=self.degradation,
            emit=self._tell,
            is_stale=is_stale,
        )
        self._translate: Translate | None = None
        if engines.final is not None:
            self._translate = Translate(
                settings=settings,
                translator=engines.final,
                drafts=self._drafts,
                degradation=self.degradation,
                emit=self._tell,
                is_stale=is_stale,
                name=f"translate-{self.lang}",
                scorer=engines.partial if isinstance(engines.partial, Scorer) else None,
                glossaries=glossaries,
            )
        self.is_resting = False
        """Whether nobody watches, so that nothing is translated."""

    @property
    def workers(self) -> list[Worker]:
        """The threads."""
        return [self._quick] if self._translate is None else [self._quick, self._translate]

    @property
    def may_rest(self) -> bool:
        """Whether it may; what is played as fast as possible is all translated."""
        return self._shed

    @property
    def degraded_reason(self) -> str:
        """What is not as it should be with this language, empty when all is."""
        final = self._translate.degraded_reason if self._translate else ""
        reasons = (self.degradation.reason, self._quick.quick.degraded_reason, final)
        told = "; ".join(filter(None, reasons))
        return f"{language(self.lang).name}: {told}" if told else ""

    @property
    def waiting(self) -> int:
        """Whole transcripts and drafts in the queues."""
        return len(self.transcripts) + self._drafts.qsize()

    def configure(self, settings: Settings) -> None:
        """Go by these settings from the next utterance on."""
        self._settings = self._quick.quick.settings = settings
        if self._translate is not None:
            self._translate.settings = settings

    def retranslate(self, request: Retranslation) -> None:
        """Have a text of an operator's translated; Retranslated reports follow. Never waits."""
        self.transcripts.ask(request)

    def rest(self, resting: bool) -> None:
        """Stop translating, or begin again."""
        self.is_resting = resting
        self.transcripts.rest(resting)

    def waits(self, now_s: float) -> Waits:
        """Return how long texts have waited for this language's stages."""
        final_s = max(0.0, now_s - self._drafts.waiting_since_s)
        if self._translate is not None:  # as in `WorkerGroup.waits`
            final_s = max(final_s, self._translate.work_log.since(self._sound_since_s(), now_s))
        return Waits(quick_s=max(0.0, now_s - self.transcripts.waiting_since_s), final_s=final_s)

    def lag_s(self, now_s: float) -> float:
        """Return how long the text has waited that waits longest; 0.0 if nothing waits."""
        return self.waits(now_s).longest_s

    def observe(self, now_s: float) -> bool:
        """Go up or down this language's ladder; return whether the rung has changed."""
        # What is played as fast as possible has no clock to fall behind.
        return self._shed and self.degradation.observe(self.waits(now_s), now_s)

    def has_time(self, now_s: float) -> bool:
        """Whether what was left in the spoken language can be translated now."""
        translators = (self._quick.quick, self._translate)
        usable = any(each is not None and each.is_usable for each in translators)
        return usable and not self.is_resting and self.waits(now_s).are_short

    def go_on(self, final: CaptionMessage) -> None:
        """Let what is said now go on behind a final that was reopened."""
        self._quick.quick.go_on(final)

    def discard(self) -> None:
        """Throw away what waits: it is off the record."""
        self.transcripts.discard()
        self._drafts.discard_asked()
        if self._translate is not None:
            self._translate.take_unfinished()

    def release(self, ended: set[str]) -> None:
        """Do for a thread that broke what it can no longer do; harmless when repeated."""
        if "transcribe" in ended:
            self.transcripts.close()
        if self._quick.name in ended:
            # As in `WorkerGroup.release`: who takes from a full one is alive.
            with suppress(queue.Full):
                self._drafts.put_nowait(None)

    def take_unfinished(self) -> list[Caption]:
        """Take what has no final yet and has a draft, as finals."""
        unfinished = self._translate.take_unfinished() if self._translate else []
        return [self._checked(caption) for caption in unfinished]

    def _checked(self, final: Caption) -> Caption:
        glossary = self._glossaries.of(final.lang) if self._glossaries else None
        final = checked(final, self._settings.church, glossary)
        return self._judge.judged(final) if self._judge and self._settings.church.doubt else final

    def _has_time(self) -> bool:
        """Whether what was said before somebody watched can be translated now."""
        # A draft that waits is of what is said now, and comes before what was said earlier.
        return self._drafts.empty() and self.degradation.rung is Rung.FULL

    def _tell(self, report: Report) -> None:
        """Hand on what a thread reports; every final is compared with what was said first."""
        match report:
            case Caption():
                final = self._checked(report) if report.final else report
                # By its language the main thread finds the board that it belongs on.
                report = Rendition(self.lang, final)
            case Retranslated(caption=caption):
                if caption is not None and caption.final:
                    caption = self._checked(caption)
                report = replace(report, caption=caption, target=self.lang)
        self._emit(report)


def language_workers(
    settings: Settings,
    engines: Sequence[TargetEngines],
    *,
    emit: Emit,
    is_stale: Callable[[Utterance], bool],
    shed: bool,
    glossaries: GlossaryStore,
    judge: DoubtModel,
    sound_since_s: Callable[[], float],
) -> list[LanguageWorkers]:
    """Return those of each further target language of the settings."""
    return [
        LanguageWorkers(
            alone,
            translators,
            emit=emit,
            is_stale=is_stale,
            shed=shed,
            glossaries=glossaries,
            judge=judge,
            sound_since_s=sound_since_s,
        )
        for alone, translators in zip(settings.by_target(), engines, strict=True)
    ]
