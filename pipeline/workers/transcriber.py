"""The transcribe thread: recognizer -> dictionary -> hallucination filter -> partial translator."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from dataclasses import replace

from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, EngineGoneError, ModelCrashError
from pipeline.core.reports import Emit, Fault, Retranslated
from pipeline.core.standing import Reopened, Standing
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.dictionary.matcher import correct
from pipeline.dictionary.store import Dictionary
from pipeline.engines.lost_tail import joined
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.text.hallucinations import reason
from pipeline.text.language_check import gibberish
from pipeline.text.sentences import is_ended, without_guessed_end
from pipeline.workers.backoff import Backoff
from pipeline.workers.base import FAULTS_IN_A_ROW, Worker
from pipeline.workers.commits import Commitments
from pipeline.workers.degradation import Degradation, Rung
from pipeline.workers.queues import DraftQueue, Retranslation, UtteranceQueue
from pipeline.workers.steps import as_final, source_caption, transcribe, translate

_REST_S = (15.0, 60.0)
"""How long the partial translator is left alone after too many errors: at first, and at most."""

_RAN_AWAY = {"repetition", "compression", "too-fast", "control-tokens", "wrong-script"}
"""Reasons against a text that say nothing of what was heard: the recognizer lost its footing."""


class Transcribe(Worker):
    """Makes a caption of every utterance, and hands finals on for the final translation."""

    def __init__(
        self,
        *,
        settings: Settings,
        recognizer: Recognizer,
        partial: Translator | None,
        dictionary: Dictionary,
        utterances: UtteranceQueue,
        drafts: DraftQueue | None,
        degradation: Degradation,
        emit: Emit,
        shed: bool,
        expect_more: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        """Take the parts. `expect_more` hears which utterance's text lacks a sentence's end."""
        super().__init__("transcribe", emit)
        self.settings = settings
        """Those in force, set by the main thread; what may change holds from the next utterance."""
        self._recognizer = recognizer
        self._partial = partial
        self._dictionary = dictionary
        self._utterances = utterances
        self._drafts = drafts
        self._degradation = degradation
        self._shed = shed
        self._expect_more = expect_more
        self._commits = Commitments()
        self._free_s = 0.0
        self._backoff = Backoff(after=FAULTS_IN_A_ROW, first_s=_REST_S[0], most_s=_REST_S[1])
        self._last: Transcript | None = None
        self.reopened: Reopened | None = None
        """Set by the main thread: the newest final on screen that speech has returned to."""
        self.final_engine_lost = False
        """Set by the main thread when the final translator hangs."""
        self.full_drafts = 0
        """Finals made from the partial translator because the queue behind was full."""

    @property
    def degraded_reason(self) -> str:
        """Why an engine is degraded, "" when both are well."""
        partial = self._partial.degraded_reason if self._partial is not None else ""
        if self._backoff.is_exhausted:
            partial = "the quick translator failed; the spoken words stand in for its captions"
        return "; ".join(filter(None, (self._recognizer.degraded_reason, partial)))

    def load(self) -> None:
        """Load recognizer and partial translator. One that only crashes is done without."""
        self._recognizer.load()
        if self._partial is None:
            return
        try:
            self._partial.load()
        except ModelCrashError as error:
            self.emit(Fault(self.name, error.code, error.message))
            self._backoff.give_up()

    def work(self) -> None:
        """Take utterances until their queue is closed and empty."""
        try:
            while (work := self._utterances.take()) is not None:
                if isinstance(work, Retranslation):
                    self._retranslate(work)
                else:
                    self.take(work)
                self._free_s = time.monotonic()
        finally:
            if self._drafts is not None:
                self._drafts.put(None)

    def take(self, utterance: Utterance) -> None:
        """Make what is due of an utterance: a caption, and of a whole one a final's draft."""
        if self._utterances.is_stale(utterance):
            return
        if utterance.is_song:
            self._commits.heard_nothing_of_use(utterance)
            self.emit(self._nothing(utterance, "song"))
            return
        transcript = self._transcript(utterance)
        if self._utterances.is_stale(utterance):
            return  # speech has returned meanwhile: there will be another text of it
        if transcript.filtered:
            self._commits.heard_nothing_of_use(utterance)
            if utterance.is_whole:
                self.emit(transcript)
            return
        self._last = transcript
        caption = self._caption(transcript)
        if not utterance.is_whole:
            self.emit(caption)
            return
        # Hot words cost full stops.
        is_half = not (self.settings.stt.hotwords or is_ended(transcript.text))
        self._expect_more(utterance.id if is_half else None)
        self._hand_over(caption)

    def _transcript(self, utterance: Utterance) -> Transcript:
        """Recognize and correct.

        A final falls back on its last partial after an engine error, and where the recognizer
        runs away: it had understood before.
        """
        stt = self.settings.stt
        self._recognizer.hotwords = self._dictionary.hotwords if stt.hotwords else ""
        try:
            transcript = self._recognized(utterance)
        except EngineGoneError:
            return self._without_recognizer(utterance)
        except EngineError as error:
            self.fault(error)
            if self.too_many_failures:
                raise
            if last := self._heard_before(utterance):
                return replace(last, utterance=utterance)
            return self._nothing(utterance, error.code)
        self.note_success()
        lexicon = self._dictionary.lexicon_for(transcript.raw_text)
        transcript = correct(lexicon, transcript)
        if not utterance.is_whole:
            transcript = replace(transcript, text=without_guessed_end(transcript.text))
        why = self._objection(transcript)
        last = self._heard_before(utterance) if why in _RAN_AWAY else None
        if last is not None:
            message = f"The recognizer ran away ({why}); its last partial stands in."
            self.emit(Fault(self.name, "stt-unusable", message))
            said = self._with_rest(last, utterance)
            return replace(said, utterance=utterance, span=transcript.span)
        return replace(transcript, filtered=why)

    def _objection(self, transcript: Transcript) -> str:
        """Return why a text cannot be shown, "" if it can."""
        length_s = len(transcript.utterance.pcm) / SAMPLE_RATE
        told = (transcript.recognition, transcript.raw_text, transcript.level_dbfs)
        why = reason(*told, length_s, self.settings.stt)
        return why or gibberish(transcript.raw_text, transcript.lang)

    def _with_rest(self, last: Transcript, utterance: Utterance) -> Transcript:
        """Return the text of an utterance that speech returned to, its two parts heard apart.

        Heard together they led the recognizer astray. `last` alone where the rest does, too.
        """
        heard = len(last.utterance.pcm)
        if not last.utterance.is_whole or heard >= len(utterance.pcm):
            return last
        try:
            rest = self._recognized(replace(utterance, pcm=utterance.pcm[heard:]))
        except EngineError:
            return last
        if self._objection(rest):
            return last
        both = joined(last.recognition, rest.recognition)
        whole = replace(rest, recognition=both, raw_text=both.text, text=both.text)
        return correct(self._dictionary.lexicon, whole)

    def _recognized(self, utterance: Utterance) -> Transcript:
        """Recognize; a final once more when the recognizer's process ends meanwhile.

        The second time it waits for the next process. After a partial there is another one soon.
        """
        for is_last in (not utterance.is_whole, True):
            try:
                return transcribe(
                    self._recognizer,
                    utterance,
                    lang=self.settings.translate.source,
                    free_s=self._free_s,
                    clock=time.monotonic,
                    prefix=self._commits.prefix(utterance, self.settings.stt),
                )
            except EngineGoneError:
                if is_last:
                    raise
        raise AssertionError  # the last time either returns or raises

    def _without_recognizer(self, utterance: Utterance) -> Transcript:
        """Return what is left of an utterance over which the recognizer's process ended."""
        code = "stt-failed"
        if utterance.is_whole:
            message = "The recognizer's process ended twice over one utterance."
            self.emit(Fault(self.name, code, message))
        if last := self._heard_before(utterance):
            return replace(last, utterance=utterance)
        return self._nothing(utterance, code)

    def _nothing(self, utterance: Utterance, code: str) -> Transcript:
        lang = self.settings.translate.source
        return Transcript(utterance, lang, "", "", Recognition(""), filtered=code)

    def _heard_before(self, utterance: Utterance) -> Transcript | None:
        """Return what the last partial of a final was."""
        last = self._last
        same = utterance.is_whole and last is not None and last.utterance.id == utterance.id
        return last if same else None

    def _caption(self, transcript: Transcript) -> Caption:
        caption = source_caption(transcript)
        now = time.monotonic()
        keeps = self.settings.translate.final.stability == "calm"
        self._commits.go_on(transcript, self.reopened if keeps else None)
        standing = self._commits.heard(transcript, keeps=keeps)
        rest = replace(transcript, text=transcript.text[self._commits.said :].lstrip())
        idle = self._backoff.is_active(now) or self._degradation.rung >= Rung.SOURCE_CAPTIONS
        if self._partial is not None and self._commits.lead and not rest.text:
            nothing = replace(
                caption, lang=self.settings.translate.target, text="", engine=self._partial.name
            )
            caption = self._commits.behind_lead(nothing, transcript)
        elif self._partial is not None and not idle:
            try:
                made = self._quick(self._partial, rest, now, standing)
            except EngineGoneError:
                pass  # it is told when its process ends, and rests by itself
            except EngineError as error:
                self._failed(error)
            else:
                if wrong := gibberish(made.text, made.lang):
                    message = f"The quick translator's text cannot be shown: {wrong}."
                    self._failed(EngineError("partial-unusable", message))
                else:
                    self._backoff.succeeded()
                    caption = self._commits.behind_lead(made, transcript)
        return self._commits.shown(caption)

    def _quick(
        self,
        translator: Translator,
        transcript: Transcript,
        now_s: float,
        standing: Standing | None = None,
    ) -> Caption:
        return translate(
            translator,
            transcript,
            lang=self.settings.translate.target,
            handed_s=now_s,
            free_s=now_s,
            clock=time.monotonic,
            standing=standing,
            spell_references=self.settings.church.references,
            glossary=self._dictionary.glossaries.of(self.settings.translate.target),
        )

    def _retranslate(self, request: Retranslation) -> None:
        """Translate what an operator has written at once; the final translator makes it better."""
        caption = source_caption(request.transcript)
        now = time.monotonic()
        if self._partial is not None and not self._backoff.is_active(now):
            try:
                made = self._quick(self._partial, request.transcript, now)
            except EngineError as error:
                # Not one of the errors in a row: nothing that was spoken has failed.
                self.emit(Fault(self.name, error.code, error.message))
            else:
                caption = caption if gibberish(made.text, made.lang) else made
        goes_on = self._drafts is not None and not self.final_engine_lost
        if caption.engine != "source":
            self.emit(Retranslated(request.ticket, caption if goes_on else as_final(caption)))
        elif not goes_on:
            self.emit(Retranslated(request.ticket, None))
        if goes_on and self._drafts is not None:
            self._drafts.ask(replace(request, quick=caption))

    def _failed(self, error: EngineError) -> None:
        """Report an error of the partial translator."""
        self.emit(Fault(self.name, error.code, error.message))
        self._backoff.failed(time.monotonic())

    def _hand_over(self, caption: Caption) -> None:
        if (
            self._drafts is None
            or self.final_engine_lost
            or self._degradation.rung >= Rung.PARTIAL_ENGINE_FINALS
        ):
            self.emit(as_final(caption))
            return
        self.emit(caption)
        try:
            self._drafts.put((caption, time.monotonic()), block=not self._shed)
        except queue.Full:
            self.full_drafts += 1
            self.emit(as_final(caption))
        else:
            if self.final_engine_lost:  # since when? Perhaps the queue was taken just before
                self.emit(as_final(caption))
