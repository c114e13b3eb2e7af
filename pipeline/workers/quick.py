"""The quick pass: makes a caption of each transcript, and the final's draft of a whole one."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from pipeline.church.fidelity.given_text import prepare
from pipeline.config.schema import Settings
from pipeline.core.backoff import Backoff
from pipeline.core.errors import EngineError, EngineGoneError, ModelCrashError, ModelError
from pipeline.core.reports import Emit, Fault, Retranslated
from pipeline.core.standing import Reopened, Standing
from pipeline.core.types import HEARD, Caption, Transcript, Utterance
from pipeline.dictionary.glossary_store import GlossaryStore
from pipeline.engines.process.sharing import is_there
from pipeline.engines.protocols import TranslationRequest, Translator
from pipeline.protocol.caption import CaptionMessage
from pipeline.text.language_check import gibberish
from pipeline.workers.address import Addressing
from pipeline.workers.base import FAULTS_IN_A_ROW, Worker, WorkLog, is_unusable
from pipeline.workers.commits import Commitments
from pipeline.workers.degradation import Degradation
from pipeline.workers.queues import DraftQueue, Retranslation, TranscriptQueue
from pipeline.workers.steps import as_final, source_caption, translate, untranslated

_REST_S = (15.0, 60.0)
"""Back-off of the quick translator after too many errors: first and longest pause."""


class QuickPass:
    """One language's quick translator, and the committed text of its captions.

    Belongs to the thread that calls `take`.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        translator: Translator | None,
        drafts: DraftQueue | None,
        degradation: Degradation,
        emit: Emit,
        stage: str,
        shed: bool,
        glossaries: GlossaryStore | None = None,
        is_needed: bool = True,
    ) -> None:
        """`stage` is the name of its worker, for faults.

        If `is_needed` is False and its model is broken, it is not used.
        """
        self.settings = settings
        """Current settings, set by the main thread. A change applies from the next utterance."""
        self._translator = translator
        self._drafts = drafts
        self.degradation = degradation
        self.emit = emit
        self.stage = stage
        self._shed = shed
        self._glossaries = glossaries
        self._is_needed = is_needed
        self._backoff = Backoff(after=FAULTS_IN_A_ROW, first_s=_REST_S[0], most_s=_REST_S[1])
        self.addressing = Addressing()
        self.commits = Commitments()
        self.reopened: Reopened | None = None
        """Set by the main thread: the newest final on screen that speech has returned to."""
        self.final_engine_lost = False
        """Set by the main thread when the final translator hangs."""
        self.work_log = WorkLog()
        """The translator's working time."""
        self.full_drafts = 0
        """Finals made from the quick translation because the draft queue was full."""

    @property
    def degraded_reason(self) -> str:
        """Why the translator is degraded, empty when it is not."""
        if self._backoff.is_exhausted:
            return "the quick translator failed; the spoken words stand in for its captions"
        return self._translator.degraded_reason if self._translator is not None else ""

    @property
    def is_usable(self) -> bool:
        """Whether the translator can be used now. Any thread may read it."""
        there = self._translator is not None and is_there(self._translator)
        return there and not self._backoff.is_active(time.monotonic())

    def load(self) -> None:
        """Load the translator. If it crashes, go on without it; if it is not needed, also when it
        is broken in any other way.
        """
        if self._translator is None:
            return
        prepare(self.settings.translate.spoken)
        try:
            self._translator.load()
        except ModelError as error:
            # The service may not start without the first target's quick translator.
            may_lack = isinstance(error, ModelCrashError) or not self._is_needed
            if not (may_lack and is_unusable(error)):
                raise
            self.emit(Fault(self.stage, error.code, error.message))
            self._backoff.give_up()

    def take(self, transcript: Transcript) -> None:
        """Make the caption of a transcript; a whole one's caption becomes a draft."""
        caption, is_whole = self._caption(transcript), transcript.utterance.is_whole
        if not self._has_translator(transcript):
            # Source text that is soon replaced is useless to readers who do not know the language.
            if is_whole or caption.engine == HEARD:
                self.emit(as_final(caption) if is_whole else caption)
        elif is_whole:
            self._hand_over(caption)
        else:
            self.emit(caption)

    def go_on(self, final: CaptionMessage) -> None:
        """Let the current speech continue a reopened final; for the main thread."""
        reopened = Reopened(final.id, final.source.text, final.target.text)
        # If the final is the source text, there is no translation to continue.
        is_translated = final.target.lang == self.settings.translate.target
        self.reopened = reopened if is_translated else None

    def retranslate(self, request: Retranslation) -> None:
        """Translate an operator's text, or speech that was not translated, at once. The final
        translator improves it.
        """
        lang = self.settings.translate.target
        if not self._has_translator(request.transcript):
            made = untranslated(request.transcript, lang)
            done = None if made.engine == "source" else as_final(made)
            self.emit(Retranslated(request.ticket, done, lang))
            return
        caption = source_caption(request.transcript)
        if self._translator is not None and not self._backoff.is_active(time.monotonic()):
            try:
                made = self._translated(self._translator, request.transcript)
            except EngineGoneError:
                pass  # as in `_caption`
            except EngineError as error:
                if request.is_speech:
                    self._failed(error)
                else:
                    # Does not count as one of the errors in a row: no speech is affected.
                    self.emit(Fault(self.stage, error.code, error.message))
            else:
                caption = caption if gibberish(made.text, made.lang) else made
        is_made = caption.engine != "source"
        if self._drafts is None or self.final_engine_lost:
            # Nothing better follows, and the main thread awaits an answer to every ticket.
            done = as_final(caption) if is_made else None
            self.emit(Retranslated(request.ticket, done, lang))
            return
        if is_made:
            self.emit(Retranslated(request.ticket, caption, lang))
        # After the report, since the final from the other thread must come later.
        self._drafts.ask(replace(request, quick=caption))

    def end(self) -> None:
        """Tell the final translator that no more drafts follow."""
        if self._drafts is not None:
            # May wait for room: if the translator hangs, the main thread empties the queue.
            self._drafts.put(None)

    def _has_translator(self, transcript: Transcript) -> bool:
        """Whether this language's translators take the transcript: they know one source."""
        is_theirs = transcript.lang == self.settings.translate.source
        has_any = self._translator is not None or self._drafts is not None
        return is_theirs and (has_any or not transcript.recognition.english)

    def _in_between(self, transcript: Transcript) -> Caption | None:
        """Return the translation of the recognizer's own English, if the translators know it."""
        english, source = transcript.recognition.english, self.settings.translate.source
        if not english or source != "en" or self._translator is None:
            return None
        said = replace(transcript, lang=source, text=english)
        with suppress(EngineError):  # reported for speech in the translators' own source
            made = self._translated(self._translator, said)
            if not gibberish(made.text, made.lang):
                return replace(made, transcript=transcript)
        return None

    def _caption(self, transcript: Transcript) -> Caption:
        caption = untranslated(transcript, self.settings.translate.target)
        has_translator = self._has_translator(transcript)
        keeps = has_translator and self.settings.translate.final.stability == "calm"
        # First, since `heard` commits only text after the kept words.
        self.commits.go_on(transcript, self.reopened if keeps else None)
        standing = self.commits.heard(transcript, keeps=keeps)
        if not has_translator:
            made_between = self._in_between(transcript) if caption.engine == "source" else None
            return self.commits.shown(made_between or caption)
        # After a final that is on screen, only the later speech is translated.
        rest = replace(transcript, text=transcript.text[self.commits.said :].lstrip())
        idle = self._backoff.is_active(time.monotonic()) or self.degradation.spares_quick
        # No speech follows the final, so there is nothing to translate.
        if self._translator is not None and self.commits.lead and not rest.text:
            nothing = replace(
                caption, lang=self.settings.translate.target, text="", engine=self._translator.name
            )
            caption = self.commits.behind_lead(nothing, transcript)
        elif self._translator is not None and not idle:
            try:
                made = self._translated(self._translator, rest, standing)
            except EngineGoneError:
                pass  # the end of the process is reported elsewhere, and the engine rests by itself
            except EngineError as error:
                self._failed(error)
            else:
                if wrong := gibberish(made.text, made.lang):
                    message = f"The quick translator's text cannot be shown: {wrong}."
                    self._failed(EngineError("partial-unusable", message))
                else:
                    self._backoff.succeeded()
                    caption = self.commits.behind_lead(made, transcript)
        return self.commits.shown(caption)

    def _translated(
        self,
        translator: Translator,
        transcript: Transcript,
        standing: Standing | None = None,
    ) -> Caption:
        # A partial is soon replaced: only a whole one is worth a search.
        searches = self.settings.translate.final.search and transcript.utterance.is_whole
        with self.work_log.working():
            return translate(
                translator,
                transcript,
                lang=self.settings.translate.target,
                request=TranslationRequest(
                    standing=standing,
                    rivals=() if searches else None,
                    previous=self.addressing.before(transcript, self.settings.translate),
                ),
                church=self.settings.church,
                glossaries=self._glossaries,
            )

    def _failed(self, error: EngineError) -> None:
        self.emit(Fault(self.stage, error.code, error.message))
        self._backoff.failed(time.monotonic())

    def _hand_over(self, caption: Caption) -> None:
        if self._drafts is None or self.final_engine_lost or self.degradation.spares_final:
            self.emit(as_final(caption))
            return
        # The draft is on screen while its final is made.
        self.emit(caption)
        # Before it is queued, so the draft cannot come after its final.
        try:
            # Only a file that is played fast can wait for room.
            self._drafts.put((caption, time.monotonic()), block=not self._shed)
        except queue.Full:
            # A wait here would delay the recognizer, so the draft becomes the final.
            self.full_drafts += 1
            self.emit(as_final(caption))
        else:
            if self.final_engine_lost:  # perhaps just now, after the queue was emptied
                self.emit(as_final(caption))


class Quick(Worker):
    """The thread of an extra target's quick pass, fed by the transcribe thread."""

    def __init__(
        self,
        quick: QuickPass,
        transcripts: TranscriptQueue,
        is_stale: Callable[[Utterance], bool],
    ) -> None:
        super().__init__(quick.stage, quick.emit)
        self.quick = quick
        self._transcripts = transcripts
        self._is_stale = is_stale
        self._partials = 0
        self._newest = 0

    def load(self) -> None:
        """Load the quick translator."""
        self.quick.load()

    def work(self) -> None:
        """Take transcripts until there are no more."""
        try:
            while (work := self._transcripts.take()) is not None:
                if isinstance(work, Retranslation):
                    self.quick.retranslate(work)
                else:
                    self._take(work)
        finally:
            self.quick.end()

    def _take(self, transcript: Transcript) -> None:
        utterance = transcript.utterance
        if self._is_stale(utterance):
            return
        if not utterance.is_whole:
            self._partials += 1
            if self.quick.degradation.spares_partial(self._partials):
                return
        current = self.quick.commits
        # What is filled in is older: the current sentence must keep its committed words.
        if utterance.id < self._newest:
            self.quick.commits = Commitments()
        self._newest = max(self._newest, utterance.id)
        # The recognizer's prefix belongs to the transcribe thread; this call begins the utterance.
        self.quick.commits.prefix(utterance, self.quick.settings.stt, transcript.lang)
        self.quick.take(transcript)
        self.quick.commits = current
