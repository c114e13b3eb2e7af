"""The translators' threads of one target language.

    transcribe -> TranscriptQueue -> quick-fr -> DraftQueue -> translate-fr

Each language has commit policy, queues, degradation and back-off of its own, so that one that is
slow or fails delays no other. The first target's quick pass is made in the transcribe thread, which
hands its drafts on itself. An extra target that nobody watches rests.
"""

from __future__ import annotations

import math
import queue
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from pipeline.church.fidelity.doubt import DoubtModel, Judge
from pipeline.church.fidelity.finals import checked
from pipeline.config.schema import Settings
from pipeline.core.languages import language
from pipeline.core.reports import Emit, Rendition, Report, Retranslated
from pipeline.core.types import Caption, Utterance
from pipeline.dictionary.glossary_store import GlossaryStore
from pipeline.engines.process.sharing import LanguageTranslator
from pipeline.engines.protocols import Scorer
from pipeline.protocol.caption import CaptionMessage
from pipeline.workers.base import TargetEngines, Worker
from pipeline.workers.degradation import Degradation, Rung, Waits
from pipeline.workers.queues import DRAFT_LIMIT, DraftQueue, Retranslation, TranscriptQueue
from pipeline.workers.quick import Quick, QuickPass
from pipeline.workers.translator import Translate

HANG_GRACE_S = 2.0
"""Seconds past its own deadline after which the final translator counts as hung."""


class TargetWorkers:
    """Translates what the transcribe thread hears into one target language."""

    quick: QuickPass
    """Of the first target the transcribe thread's, which the group sets."""

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
        degradation: Degradation | None = None,
        ask: Callable[[Retranslation], None] | None = None,
    ) -> None:
        """Make the threads. `settings` are as if this language were the only target.

        `shed`: the language may give up quality where it falls behind, and rest. `judge` says of
        each final how likely it is wrong; without one none is doubtful. `sound_since_s`: since when
        sound has waited for the recognizer (monotonic), infinity for none. `ask` is given for the
        first target: by it the transcribe thread is asked to translate an operator's text.
        """
        self.lang = engines.lang
        self._final = engines.final
        self._settings = settings
        self._emit = emit
        self._shed = shed
        self._glossaries = glossaries
        self._judge = Judge(judge) if judge else None
        self._sound_since_s = sound_since_s
        self._is_first = ask is not None
        self.degradation = degradation or Degradation()
        self.drafts = DraftQueue(DRAFT_LIMIT)
        self.transcripts = TranscriptQueue(self._may_fill)
        self.retranslate = ask or self.transcripts.ask
        """Has a text of an operator's translated; Retranslated reports follow. Never waits."""
        self._stage, final_stage = engines.stages(is_first=self._is_first)
        self.translate: Translate | None = None
        if engines.final is not None:
            self.translate = Translate(
                settings=settings,
                translator=engines.final,
                drafts=self.drafts,
                degradation=self.degradation,
                emit=self.tell,
                is_stale=is_stale,
                name=final_stage,
                # Asked for scores in another thread than for translations: its calls have a lock.
                scorer=engines.partial if isinstance(engines.partial, Scorer) else None,
                glossaries=glossaries,
            )
        self.workers: list[Worker] = [] if self.translate is None else [self.translate]
        """The threads of its own."""
        if not self._is_first:
            self.quick = QuickPass(
                settings=settings,
                translator=engines.partial,
                drafts=self.drafts if engines.final else None,
                degradation=self.degradation,
                emit=self.tell,
                stage=self._stage,
                shed=shed,
                glossaries=glossaries,
                is_needed=False,
            )
            reads = Quick(
                self._stage,
                quick=self.quick,
                transcripts=self.transcripts,
                degradation=self.degradation,
                emit=self.tell,
                is_stale=is_stale,
            )
            self.workers.insert(0, reads)
        self.is_resting = False
        """Whether nobody watches, so that nothing is translated."""

    @property
    def may_rest(self) -> bool:
        """Whether it may; what is played as fast as possible is all translated."""
        return self._shed and not self._is_first

    @property
    def final_setback(self) -> str:
        """What is not as it should be with the final translator, empty when all is."""
        if self.quick.final_engine_lost:
            return "the final translator hangs"
        return self.translate.degraded_reason if self.translate else ""

    @property
    def degraded_reason(self) -> str:
        """What is not as it should be with this language, empty when all is."""
        reasons = (self.degradation.reason, self.quick.degraded_reason, self.final_setback)
        told = "; ".join(filter(None, reasons))
        return f"{language(self.lang).name}: {told}" if told else ""

    @property
    def waiting(self) -> int:
        """Whole transcripts and drafts in the queues."""
        return len(self.transcripts) + self.drafts.qsize()

    def configure(self, settings: Settings) -> None:
        """Go by these settings from the next utterance on."""
        self._settings = self.quick.settings = settings
        if self.translate is not None:
            self.translate.settings = settings

    def note_watchers(self, watchers: int) -> None:
        """Let a final translator that languages share know how many displays show this one."""
        if isinstance(self._final, LanguageTranslator):
            self._final.watchers = watchers

    def rest(self, resting: bool) -> None:
        """Stop translating, or begin again."""
        self.is_resting = resting
        self.transcripts.rest(resting)

    def waits(self, now_s: float) -> Waits:
        """Return how long sound and texts have waited for this language's stages."""
        since_s = self._sound_since_s()
        drafts_s = max(0.0, now_s - self.drafts.waiting_since_s)
        # Sound that waits for the recognizer waits for the final translator as well, which takes
        # the processor from it: but only for as long as that was at work meanwhile.
        worked_s = self.translate.work_log.since(since_s, now_s) if self.translate else 0.0
        final_s = max(drafts_s, worked_s)
        if not self._is_first:
            quick_s = max(0.0, now_s - self.transcripts.waiting_since_s)
            return Waits(quick_s=quick_s, final_s=final_s)
        # Here for the quick one, too, which the recognizer's thread asks.
        quick_s = self.quick.work_log.since(since_s, now_s)
        return Waits(max(0.0, now_s - since_s), quick_s, final_s)

    def lag_s(self, now_s: float) -> float:
        """Return how long the text has waited that waits longest; 0.0 if nothing waits."""
        return self.waits(now_s).longest_s

    def observe(self, now_s: float) -> bool:
        """Go up or down this language's ladder; return whether the rung has changed."""
        # What is played as fast as possible has no clock to fall behind.
        return self._shed and self.degradation.observe(self.waits(now_s), now_s)

    def has_time(self, now_s: float) -> bool:
        """Whether what was left in the spoken language can be translated now."""
        translators = (self.quick, self.translate)
        usable = any(each is not None and each.is_usable for each in translators)
        return usable and not self.is_resting and self.waits(now_s).are_short

    def check_final(self, now_s: float) -> bool:
        """Check whether the final translator hangs; return True when that is new.

        While it hangs, new finals do without it; when it comes back it is used again.
        """
        hangs = False
        if self.translate is not None and (doing := self.translate.doing) is not None:
            hangs = now_s - doing[1] > self.translate.deadline_s + HANG_GRACE_S
        new = hangs and not self.quick.final_engine_lost
        self.quick.final_engine_lost = hangs
        return new

    def go_on(self, final: CaptionMessage) -> None:
        """Let what is said now go on behind a final that was reopened."""
        self.quick.go_on(final)

    def forget(self) -> None:
        """Translate what is said next as if nothing had been said before."""
        if self.translate is not None:
            self.translate.previous.forget()

    def discard(self) -> None:
        """Throw away what waits: it is off the record."""
        self.transcripts.discard()
        self.drafts.discard_asked()
        if self.translate is not None:
            # Taken and not shown. What is being translated now is dropped by the coordinator.
            self.translate.take_unfinished()

    def release(self, ended: set[str]) -> None:
        """Do for a thread that broke what it can no longer do; harmless when repeated."""
        if "transcribe" in ended:
            self.transcripts.close()
        if self._stage in ended:
            # A full queue is no matter: who takes from it is alive, and `release` comes again.
            with suppress(queue.Full):
                self.drafts.put_nowait(None)

    def take_unfinished(self) -> list[Caption]:
        """Take what has no final yet and has a draft, as finals."""
        unfinished = self.translate.take_unfinished() if self.translate else []
        return [self._checked(caption) for caption in unfinished]

    def tell(self, report: Report) -> None:
        """Hand on what a thread reports; first every final is compared with what was said, and each
        translation of what an operator has written: it stands in a caption that was final.
        """
        match report:
            case Caption():
                final = self._checked(report) if report.final else report
                # By its language the main thread finds the board that it belongs on.
                report = Rendition(self.lang, final)
            case Retranslated(caption=Caption() as caption):
                report = replace(report, caption=self._checked(caption))
        self._emit(report)

    def _checked(self, made: Caption) -> Caption:
        """Return a caption compared with what was said; a final judged, with an opinion of it."""
        # In the thread that has made it: the main thread only shows what comes.
        store = self._glossaries
        glossary, names = (store.of(made.lang), store.names) if store else (None, ())
        made = checked(made, self._settings.church, glossary, names)
        is_judged = self._judge and self._settings.church.doubt and made.final
        return self._judge.judged(made) if self._judge and is_judged else made

    def _may_fill(self) -> bool:
        """Whether what was said before somebody watched can be translated now."""
        # A draft that waits is of what is said now, and comes before what was said earlier.
        return self.drafts.empty() and self.degradation.rung is Rung.FULL
