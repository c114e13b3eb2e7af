"""The translators' threads of one target language.

    transcribe -> TranscriptQueue -> quick-fr -> DraftQueue -> translate-fr

Each language has its own commit policy, queues, degradation and back-off, so that a slow or failed
one delays no other. The first target's quick pass runs in the transcribe thread, which queues its
drafts itself. An extra target that nobody watches rests.
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
from pipeline.engines.protocols import Scorer, TargetEngines
from pipeline.workers.base import Worker, stages
from pipeline.workers.degradation import Degradation, Rung, Waits
from pipeline.workers.queues import DRAFT_LIMIT, DraftQueue, Retranslation, TranscriptQueue
from pipeline.workers.quick import Quick, QuickPass
from pipeline.workers.translator import Translate

HANG_GRACE_S = 2.0
"""Seconds past its own deadline after which the final translator counts as hung."""


class TargetWorkers:
    """Translates what the transcribe thread hears into one target language."""

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

        `shed`: the language may give up quality when it falls behind, and rest. `judge` estimates
        how likely each final is wrong; without it none is doubtful. `sound_since_s` returns since
        when sound has waited for the recognizer (monotonic), infinity for none. `ask` is given for
        the first target: it asks the transcribe thread to translate an operator's text.
        """
        self.lang = engines.lang
        self._final = engines.final
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
        """Requests a translation of an operator's text; Retranslated reports follow. No wait."""
        stage, final_stage = stages(engines.lang, is_first=self._is_first)
        self.translate: Translate | None = None
        if engines.final is not None:
            self.translate = Translate(
                settings=settings,
                translator=engines.final,
                drafts=self.drafts,
                degradation=self.degradation,
                emit=self.tell,
                shed=shed,
                is_stale=is_stale,
                name=final_stage,
                # Scores and translations run in different threads; its calls have a lock.
                scorer=engines.partial if isinstance(engines.partial, Scorer) else None,
                glossaries=glossaries,
            )
        self.workers: list[Worker] = [] if self.translate is None else [self.translate]
        """Its own threads."""
        self.quick = QuickPass(
            settings=settings,
            translator=engines.partial,
            drafts=self.drafts if engines.final else None,
            degradation=self.degradation,
            emit=self.tell,
            stage=stage,
            shed=shed,
            glossaries=glossaries,
            is_needed=self._is_first,
        )
        """The first target's belongs to the transcribe thread."""
        if not self._is_first:
            self.workers.insert(0, Quick(self.quick, self.transcripts, is_stale))
        self.is_resting = False
        """Whether nobody watches and nothing is translated."""

    @property
    def may_rest(self) -> bool:
        """Whether it may rest. A file played as fast as possible is translated completely."""
        return self._shed and not self._is_first

    @property
    def final_setback(self) -> str:
        """Why the final translator is degraded, empty when it is not."""
        if self.quick.final_engine_lost:
            return "the final translator hangs"
        return self.translate.degraded_reason if self.translate else ""

    @property
    def degraded_reason(self) -> str:
        """Why this language is degraded, empty when it is not."""
        reasons = (self.degradation.reason, self.quick.degraded_reason, self.final_setback)
        text = "; ".join(filter(None, reasons))
        return f"{language(self.lang).name}: {text}" if text else ""

    @property
    def waiting(self) -> int:
        """Number of whole transcripts and drafts in the queues."""
        return len(self.transcripts) + self.drafts.qsize()

    def configure(self, settings: Settings) -> None:
        """Use these settings from the next utterance on."""
        self.quick.settings = settings
        if self.translate is not None:
            self.translate.settings = settings

    def note_watchers(self, watchers: int) -> None:
        """Tell a shared final translator how many displays show this language."""
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
        # The final translator takes processor time from the recognizer. So waiting sound also
        # counts as waiting for the translator, but only for the time that the translator worked.
        worked_s = self.translate.work_log.since(since_s, now_s) if self.translate else 0.0
        final_s = max(drafts_s, worked_s)
        if not self._is_first:
            quick_s = max(0.0, now_s - self.transcripts.waiting_since_s)
            return Waits(quick_s=quick_s, final_s=final_s)
        # The same for the quick translator, which the recognizer's thread calls.
        quick_s = self.quick.work_log.since(since_s, now_s)
        return Waits(max(0.0, now_s - since_s), quick_s, final_s)

    def observe(self, now_s: float) -> bool:
        """Go up or down this language's ladder; return whether the rung has changed."""
        # A file played as fast as possible cannot fall behind the clock.
        return self._shed and self.degradation.observe(self.waits(now_s), now_s)

    def has_time(self, now_s: float) -> bool:
        """Whether captions left in the spoken language can be translated now."""
        translators = (self.quick, self.translate)
        usable = any(each is not None and each.is_usable for each in translators)
        return usable and not self.is_resting and self.waits(now_s).are_short

    def check_final(self, now_s: float) -> bool:
        """Check whether the final translator hangs; return True if the hang is new.

        While it hangs, new finals are made without it; when it returns it is used again.
        """
        hangs = False
        if self.translate is not None and (doing := self.translate.doing) is not None:
            hangs = now_s - doing[1] > self.translate.deadline_s + HANG_GRACE_S
        new = hangs and not self.quick.final_engine_lost
        self.quick.final_engine_lost = hangs
        return new

    def forget(self) -> None:
        """Translate the next speech without context from earlier captions."""
        if self.translate is not None:
            self.translate.previous.forget()

    def discard(self) -> None:
        """Discard everything that waits: it is off the record."""
        self.transcripts.discard()
        self.drafts.discard_asked()
        if self.translate is not None:
            # Taken and not shown. The coordinator drops the draft that is being translated.
            self.translate.take_unfinished()

    def release(self, ended: set[str]) -> None:
        """Close the queues of a thread that failed; may be repeated."""
        if "transcribe" in ended:
            self.transcripts.close()
        if self.quick.stage in ended:
            # A full queue is no problem: its reader is alive, and `release` is called again.
            with suppress(queue.Full):
                self.drafts.put_nowait(None)

    def take_unfinished(self) -> list[Caption]:
        """Return the drafts that have no final yet, as finals."""
        unfinished = self.translate.take_unfinished() if self.translate else []
        return [self._checked(caption) for caption in unfinished]

    def tell(self, report: Report) -> None:
        """Pass a thread's report on. Before that, compare every final with its source, and each
        translation of an operator's text too, since it goes into a caption that was final.
        """
        match report:
            case Caption():
                final = self._checked(report) if report.final else report
                # The main thread finds the right board by the language.
                report = Rendition(self.lang, final)
            case Retranslated(caption=Caption() as caption):
                report = replace(report, caption=self._checked(caption))
        self._emit(report)

    def _checked(self, made: Caption) -> Caption:
        """Return a caption compared with its source; a final is also judged."""
        # In the thread that made it, since the main thread only shows captions.
        church, store = self.quick.settings.church, self._glossaries
        glossary, names = (store.of(made.lang), store.names) if store else (None, ())
        made = checked(made, church, glossary, names)
        is_judged = self._judge and church.doubt and made.final
        return self._judge.judged(made) if self._judge and is_judged else made

    def _may_fill(self) -> bool:
        """Whether speech from before somebody watched can be translated now."""
        # A waiting draft is of current speech, which comes before earlier speech.
        return self.drafts.empty() and self.degradation.rung is Rung.FULL
