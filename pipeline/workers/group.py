"""The worker threads and the queues between them, as one group for the main thread."""

from __future__ import annotations

import queue
import time
from functools import partial
from pathlib import Path
from typing import Protocol

from pipeline.audio.segmenter import Segmenter
from pipeline.audio.utterance_ids import UtteranceIds
from pipeline.church.fidelity.doubt import in_use
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, EngineGoneError
from pipeline.core.reports import Emit, Fault
from pipeline.core.types import Caption, Comparison, SongControl, Span
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.sharing import is_there
from pipeline.engines.protocols import Translator
from pipeline.models.automatic import own_pauses
from pipeline.workers.base import Engines, Worker
from pipeline.workers.degradation import Degradation
from pipeline.workers.listener import FallbackDetector, Listen
from pipeline.workers.queues import UtteranceQueue
from pipeline.workers.target import TargetWorkers
from pipeline.workers.transcriber import Transcribe

SILENT_S = 20.0
"""Seconds without a sign of life after which the listen thread counts as hung. It notices a silent
microphone itself, much earlier.
"""

STUCK_S = 300.0
"""Seconds on one utterance after which the transcribe thread counts as hung. Several calls of its
engines fit into it, and each call has its own time limit.
"""


class HearingControls(Protocol):
    """The operators' settings for hearing."""

    paused: bool
    blank: bool
    off_record: bool
    song_control: SongControl
    forced_language: str


class WorkerGroup:
    """The workers that listen, transcribe, translate into every target language, maybe compare."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        *,
        dictionary: Dictionary,
        degradation: Degradation,
        emit: Emit,
        last_id: int = 0,
        origin_s: float = 0.0,
    ) -> None:
        """Make the workers. Ids continue from `last_id`, audio times from `origin_s`."""
        self._pauses = own_pauses(settings)
        settings = self._with_pauses(settings)
        self._engines = engines
        self._emit = emit
        # A file played as fast as possible cannot fall behind the clock: then the queues wait and
        # give nothing up.
        self.may_shed = not (settings.audio.input and settings.audio.pace == "fast")
        self._utterances = UtteranceQueue()
        self._ids = UtteranceIds(last_id)
        self._segmenter = Segmenter(settings.vad, ids=self._ids)
        self._detector = FallbackDetector(engines.detector, emit)
        self.listen = Listen(
            source=engines.source,
            detector=self._detector,
            segmenter=self._segmenter,
            songs=engines.songs,
            song=settings.church.song,
            origin_s=origin_s,
            # A recording may be silent for minutes; a microphone in a room never is.
            zeros_mean_lost=not settings.audio.input,
            waits_for_text=not self.may_shed,
            utterances=self._utterances,
            degradation=degradation,
            emit=emit,
        )
        alone, judge = settings.for_each_target(), in_use(Path(settings.session.directory))
        self.targets = tuple(
            TargetWorkers(
                each,
                translators,
                emit=emit,
                is_stale=self._utterances.is_stale,
                shed=self.may_shed,
                glossaries=dictionary.glossaries_of(each.translate.source),
                judge=judge,
                # Looked up at the call: the transcribe thread is made below, from these targets.
                sound_since_s=lambda: self._transcribe.waiting_since_s,
                degradation=degradation if number == 0 else None,
                ask=self._utterances.ask if number == 0 else None,
            )
            for number, (each, translators) in enumerate(zip(alone, engines.targets, strict=True))
        )
        """One for each target language, in the order of the settings."""
        first, *extra = self.targets
        self._transcribe = Transcribe(
            quick=first.quick,
            recognizer=engines.recognizer,
            dictionary=dictionary,
            utterances=self._utterances,
            shed=self.may_shed,
            # Called in the transcribe thread, read in the listen thread: each assigns one tuple.
            expect_more=self._segmenter.expect_more,
            end_sentences=self._segmenter.end_sentences,
            extra_targets=[each.transcripts for each in extra],
        )
        self._workers: list[Worker] = [self.listen, self._transcribe]
        for target in self.targets:
            self._workers += target.workers
        self._compare: Compare | None = None
        if engines.compare is not None:
            self._compare = Compare(
                lang=settings.translate.target,
                translator=engines.compare,
                model=settings.translate.compare.model,
                emit=emit,
                # If nothing may be shed, any number of finals may wait to be compared.
                limit=LIMIT if self.may_shed else 0,
            )
        self.ready: set[str] = set()
        """Names of the workers that have loaded their engines."""
        self.ended: dict[str, BaseException | None] = {}
        """Names of the workers that have ended, and the error of those that failed."""

    def start(self) -> None:
        """Let all workers load."""
        for stage, engine in self._engines.by_stage():
            # Before the threads, so a process that dies while it loads is reported too.
            engine.listen(partial(self._tell, stage))
        for worker in self._all:
            worker.start()

    def configure(self, settings: Settings) -> None:
        """Apply these settings to all workers, each from its next utterance on."""
        settings = self._with_pauses(settings)
        # One assignment each, of frozen values, so no thread sees half of a change.
        self._segmenter.vad = settings.vad
        self.listen.song = settings.church.song
        alone = settings.for_each_target()
        for target, each in zip(self.targets, alone, strict=True):
            target.configure(each)

    def _with_pauses(self, settings: Settings) -> Settings:
        """Return the settings with the recognizer's suitable pauses where none are set."""
        return settings.model_copy(update={"vad": settings.vad.fitted(self._pauses)})

    def begin(self) -> None:
        """Start the work of all workers."""
        for worker in self._all:
            worker.begin()

    def stop(self) -> None:
        """Close the source; the others end as the data runs out."""
        self.listen.stop()
        self.release()

    def release(self) -> None:
        """Close the queues of a worker that failed; may be repeated.

        It neither passed the end on to the next workers nor made room for the previous ones.
        """
        if {"listen", "transcribe"} & set(self.ended):
            self._utterances.close()
        for each in self.targets:
            each.release(set(self.ended))
        if self._compare is not None and self.is_done:
            self._compare.end()

    @property
    def is_loaded(self) -> bool:
        """Whether every worker that captions need is ready."""
        return {worker.name for worker in self._workers} <= self.ready

    @property
    def is_broken(self) -> bool:
        """Whether a worker ended with an error."""
        return any(self.ended.values())

    @property
    def is_done(self) -> bool:
        """Whether every worker that captions need has ended, except a translator that hangs."""
        left = {worker.name for worker in self._workers} - set(self.ended)
        # `Supervisor` has made its drafts final. Its thread cannot be ended from here.
        return not left or (left == {"translate"} and self.targets[0].quick.final_engine_lost)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come, comparisons included."""
        return self.is_done and (self._compare is None or self._compare.name in self.ended)

    @property
    def is_stuck(self) -> bool:
        """Whether a thread is still inside an engine."""
        return any(worker.is_alive() for worker in self._all)

    @property
    def degraded_reason(self) -> str:
        """Why engines are degraded, empty when none is."""
        first, *extra = self.targets
        reasons = (
            self._detector.degraded_reason,
            self._transcribe.degraded_reason,
            first.final_setback,
            *(each.degraded_reason for each in extra if not each.is_resting),
        )
        return "; ".join(filter(None, reasons))

    def is_listening(self, now_s: float) -> bool:
        """Whether the listen thread still reads audio or waits for it properly."""
        # A thread that has ended is reported elsewhere; one that loads hears nothing yet.
        ended = self.listen.name in self.ended or not self.listen.begun
        # Waiting for room is no hang. `is_transcribing` detects a recognizer that takes nothing.
        waits = self._utterances.is_full
        return ended or waits or not self.may_shed or now_s - self.listen.beat_s < SILENT_S

    def is_transcribing(self, now_s: float) -> bool:
        """Whether the transcribe thread makes progress, or waits for an engine's replacement.

        A hang in a translator's thread is reported to operators; captions go on without it.
        """
        since_s = self._transcribe.busy_since_s  # read once: it may change meanwhile
        # It waits for the recognizer's process only, however degraded an engine that is there is.
        stuck = since_s and is_there(self._engines.recognizer) and now_s - since_s > STUCK_S
        return not stuck or not self.may_shed

    @property
    def heard_s(self) -> float:
        """Position in the session's audio, seconds."""
        return self.listen.heard_s

    def compare(self, final: Caption) -> None:
        """Queue a final to be compared, if that is configured; never waits."""
        # If the source text is the final, there is no translation to compare.
        if self._compare is not None and final.lang != final.transcript.lang:
            self._compare.put(final)

    def take_id(self) -> int:
        """Return the id for a caption that an operator types; it follows the current speech."""
        return self._ids.take()

    def settle(self) -> None:
        """Make a separate caption of the speech from now on."""
        self.listen.settle()

    def apply(self, controls: HearingControls) -> None:
        """Apply the operators' controls. Going off the record also discards all that waits."""
        self.listen.paused, self.listen.blank = controls.paused, controls.blank
        self.listen.song_control = controls.song_control
        self._transcribe.spoken.forced = controls.forced_language
        for each in self.targets:
            each.forget()
        new = controls.off_record and not self.listen.off_record
        # Before the queues are emptied, so the listen thread does not fill them again.
        self.listen.off_record = controls.off_record
        if new:
            # First the reopened finals that earlier words would continue, then the queues.
            for each in self.targets:
                each.quick.reopened = None
            self._utterances.discard()
            for each in self.targets:
                each.discard()

    @property
    def _all(self) -> list[Worker]:
        return self._workers if self._compare is None else [*self._workers, self._compare]

    def _tell(self, stage: str, code: str, message: str) -> None:
        self._emit(Fault(stage, code, message))

    def queues(self) -> dict[str, int]:
        """Return the length of each queue."""
        return {"mailbox": len(self._utterances), "drafts": self.targets[0].drafts.qsize()}

    def dropped(self) -> dict[str, int]:
        """Return the numbers given up so far: partials not recognized, finals not passed on."""
        return {
            "partials": self._utterances.replaced_partials,
            "drafts": self._transcribe.quick.full_drafts,
        }


LIMIT = 16
"""Most captions that may wait."""


class Compare(Worker):
    """Translates the source of finals a second time. `limit` 0 lets any number wait."""

    def __init__(
        self, *, lang: str, translator: Translator, model: str, emit: Emit, limit: int = LIMIT
    ) -> None:
        super().__init__("compare", emit)
        self._lang = lang
        self._translator = translator
        self._model = Path(model).name
        self._limit = limit
        # Unbounded, since the end must always fit; `put` keeps the limit.
        self._finals: queue.Queue[tuple[int, str, str] | None] = queue.Queue()
        self._useless = False
        self.left_out = 0
        """Captions not compared: too many waited, or the translator fails."""

    def put(self, caption: Caption) -> None:
        """Queue a final; never waits. Called by one thread."""
        if self._limit and self._finals.qsize() >= self._limit:
            self.left_out += 1
        else:  # without the samples that the caption holds
            self._finals.put((caption.id, caption.transcript.text, caption.text))

    def end(self) -> None:
        """Mark the end: no final follows. May be repeated."""
        self._finals.put(None)

    def load(self) -> None:
        """Load the translator. If it is broken, report that and compare nothing."""
        self._useless = not self.may_use(self._translator)

    def work(self) -> None:
        """Compare finals until the end of the queue."""
        while (final := self._finals.get()) is not None:
            if self._useless:
                # Still taken, since the end is behind it in the queue.
                self.left_out += 1
            else:
                self._compare(*final)
        if self.left_out:
            message = f"{self.left_out} captions were not compared."
            self.emit(Fault(self.name, "compare-incomplete", message))

    def _compare(self, caption_id: int, source: str, final: str) -> None:
        start_s = time.monotonic()
        try:
            translation = self._translator.translate(source)
        except EngineError as error:
            self.left_out += 1
            # The process's keeper reports that.
            if not isinstance(error, EngineGoneError):
                self.fault(error)
                self._useless = self.too_many_failures
            return
        self.note_success()
        span = Span(start_s, time.monotonic())
        self.emit(Comparison(caption_id, self._lang, final, self._model, translation, span))
