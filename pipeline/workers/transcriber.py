"""The transcribe thread: recognizer -> dictionary -> hallucination filter -> partial translator."""

from __future__ import annotations

import queue
import time
from dataclasses import replace

from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, EngineGoneError, ModelCrashError
from pipeline.core.reports import Emit, Fault
from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.dictionary.matcher import correct
from pipeline.dictionary.store import Dictionary
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.text.hallucinations import reason
from pipeline.text.language_check import gibberish
from pipeline.workers.backoff import Backoff
from pipeline.workers.base import FAULTS_IN_A_ROW, Worker
from pipeline.workers.commits import Commitments
from pipeline.workers.degradation import Degradation, Rung
from pipeline.workers.queues import DraftQueue, UtteranceQueue
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
    ) -> None:
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
        self._commits = Commitments()
        self._free_s = 0.0
        self._backoff = Backoff(after=FAULTS_IN_A_ROW, first_s=_REST_S[0], most_s=_REST_S[1])
        self._last: Transcript | None = None
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
            while (utterance := self._utterances.get()) is not None:
                self._take(utterance)
                self._free_s = time.monotonic()
        finally:
            if self._drafts is not None:
                self._drafts.put(None)

    def _take(self, utterance: Utterance) -> None:
        if self._utterances.is_stale(utterance):
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
        transcript = correct(self._dictionary.lexicon, transcript)
        why = reason(
            transcript.recognition,
            transcript.raw_text,
            transcript.level_dbfs,
            len(utterance.pcm) / SAMPLE_RATE,
            stt,
        ) or gibberish(transcript.raw_text, transcript.lang)
        last = self._heard_before(utterance) if why in _RAN_AWAY else None
        if last is not None:
            message = f"The recognizer ran away ({why}); its last partial stands in."
            self.emit(Fault(self.name, "stt-unusable", message))
            return replace(last, utterance=utterance, span=transcript.span)
        return replace(transcript, filtered=why)

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
        standing = self._commits.heard(transcript, keeps=keeps)
        idle = self._backoff.is_active(now) or self._degradation.rung >= Rung.SOURCE_CAPTIONS
        if self._partial is not None and not idle:
            try:
                made = translate(
                    self._partial,
                    transcript,
                    lang=self.settings.translate.target,
                    handed_s=now,
                    free_s=now,
                    clock=time.monotonic,
                    standing=standing,
                    spell_references=self.settings.church.references,
                    glossary=self._dictionary.glossaries.of(self.settings.translate.target),
                )
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
                    caption = made
        return self._commits.shown(caption)

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
