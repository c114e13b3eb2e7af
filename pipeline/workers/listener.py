"""The listen thread: audio source -> voice activity -> song gate -> segmenter -> queue."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import replace
from typing import Literal

import numpy as np

from pipeline.audio.level import level_dbfs, measure
from pipeline.audio.protocols import AudioSource, SongDetector, SpeechDetector
from pipeline.audio.segmenter import Segmenter
from pipeline.audio.song_gate import ForgottenHold, Passage, SongGate
from pipeline.core.backoff import Backoff
from pipeline.core.errors import AudioError, AudioLostError, EngineError
from pipeline.core.reports import Emit, Fault, Settled, SongChanged, SourceChanged
from pipeline.core.types import SAMPLE_RATE, AudioBlock, Pcm, SongControl, SongMode, Utterance
from pipeline.workers.base import Worker
from pipeline.workers.degradation import Degradation, Rung
from pipeline.workers.queues import UtteranceQueue

LOUD_DBFS = -45.0
"""A louder block may be speech. Speech is at least 15 dB above this level."""

_REST_S = (2.0, 60.0)
_TEXT_S = 30.0
"""A recognizer that takes longer for an utterance hangs."""


class FallbackDetector:
    """A SpeechDetector that never fails: while its model fails, loudness decides.

    Loudness also counts coughs and the organ as speech, and the recognizer has to cope with them.
    But it does not miss speech, and a service without a single caption is worse.
    """

    def __init__(self, detector: SpeechDetector, emit: Emit) -> None:
        """`emit` takes the report when the detector fails."""
        self._detector = detector
        self._emit = emit
        # At the first error: it runs 31 times a second, and would report as often.
        self._backoff = Backoff(after=1, first_s=_REST_S[0], most_s=_REST_S[1])

    @property
    def degraded_reason(self) -> str:
        """Why it is degraded, "" when it is not. Any thread may read it."""
        if not self._backoff.is_exhausted:
            return ""
        return "the voice activity model failed; loudness decides what is speech"

    def load(self) -> None:
        """Load the model. Raises ModelError."""
        self._detector.load()

    def probability(self, pcm: Pcm) -> float:
        """Return the model's probability of speech. If it fails, 1.0 or 0.0 by loudness."""
        now_s = time.monotonic()
        if not self._backoff.is_active(now_s):
            try:
                probability = self._detector.probability(pcm)
            except EngineError as error:
                self._backoff.failed(now_s)
                self._emit(Fault("listen", error.code, error.message))
                # A nan would stay in the model's state.
                self._detector.reset()
            else:
                self._backoff.succeeded()
                return probability
        return 1.0 if level_dbfs(pcm) > LOUD_DBFS else 0.0

    def reset(self) -> None:
        """Clear the state after a gap in the audio."""
        self._detector.reset()


# Blocks of 32 ms, so four readings a second.
_LEVEL_BLOCKS = 8
# Pauses before each attempt to open the source; the last one repeats.
_REOPEN_S = (0.5, 1.0, 2.0, 5.0)
_STUCK = 2
_NO_NEWS = ("audio-device-missing", "audio-stuck")
_ZEROS_S = (5.0, 10.0, 20.0, 60.0)
"""Even a quiet room does not give only zeros for so long: the device is reopened. If there is
still no sound, it is probably muted, and the pauses become longer and longer.
"""
_FORGOTTEN = {
    "pause-forgotten": "Captions are paused, but somebody is speaking: press Resume to go on.",
    "song-hold-forgotten": "Captions are held for a song, but somebody is speaking: press "
    "Captions again to go on.",
    "blank-forgotten": "The screens are blank, but somebody is speaking: press Show again.",
}


class Listen(Worker):
    """Reads the source until it ends, and reopens it when it is lost."""

    def __init__(
        self,
        *,
        source: AudioSource,
        detector: SpeechDetector,
        segmenter: Segmenter,
        utterances: UtteranceQueue,
        degradation: Degradation,
        emit: Emit,
        songs: SongDetector | None = None,
        song: SongMode = "auto",
        origin_s: float = 0.0,
        zeros_mean_lost: bool = False,
        waits_for_text: bool = False,
    ) -> None:
        """Audio times continue from `origin_s`.

        `song` is the setting; without `songs` only operators can hold captions during song.
        `zeros_mean_lost`: True for a microphone, which is lost if it gives only zeros; a file may.
        `waits_for_text`: True for a file that is played faster than its text can come.
        """
        super().__init__("listen", emit)
        self._source = source
        self._detector = detector
        self._segmenter = segmenter
        self._utterances = utterances
        self._degradation = degradation
        self._stopping = threading.Event()
        self._partials = 0
        self._resumable: int | None = None
        self._meter: list[AudioBlock] = []
        self._told_bad = False
        self._zeros_mean_lost = zeros_mean_lost
        self._waits_for_text = waits_for_text
        self._zeros_s = 0.0
        self._has_sounded = False
        self._mutes = 0
        self.paused = False
        """Set by the main thread: audio is only used to detect a forgotten pause."""
        self.blank = False
        """Set by the main thread: the screens show no captions."""
        self._off_record = False
        self.song = song
        """The setting; set by the main thread."""
        self.song_control: SongControl = "auto"
        """The operator's choice for song; set by the main thread."""
        self._songs = songs
        self._gate = SongGate()
        self._forgotten = ForgottenHold()
        self._song_from_s = 0.0
        # Events, not flags: the main thread sets them, and the next block handles each one once.
        self._forget = threading.Event()
        self._keep = threading.Event()
        self.heard_s = origin_s
        """Position in the session's audio, seconds."""
        self.beat_s = time.monotonic()
        """When it last got a block or tried to open the source."""
        self._origin = round(origin_s * SAMPLE_RATE)

    def load(self) -> None:
        """Load the voice activity model and open the source. If one is missing, the start fails."""
        self._detector.load()
        if self._songs is not None:
            self._songs.load()
        self._source.open()

    def stop(self) -> None:
        """End the source. The open utterance becomes a final."""
        # First, since a source that fails because it is closed must not be reopened.
        self._stopping.set()
        self._source.close()

    def settle(self) -> None:
        """Prevent speech from returning to an earlier final. Any thread may call this."""
        self._keep.set()

    @property
    def off_record(self) -> bool:
        """Set by the main thread: like `paused`, and the open utterance is discarded too."""
        return self._off_record

    @off_record.setter
    def off_record(self, on: bool) -> None:
        if on:
            self._forget.set()  # also if it is switched off before the next block
        self._off_record = on

    def work(self) -> None:
        """Read blocks until the source ends."""
        # The supervisor counts from here: loading time is no silence.
        self.beat_s = time.monotonic()
        try:
            while not self._stopping.is_set():
                try:
                    for block in self._source.blocks():
                        start_sample = self._origin + block.start_sample
                        self._take(replace(block, start_sample=start_sample))
                    break
                except AudioLostError as lost:
                    # Speech before the loss becomes a caption; nothing can continue it.
                    self._flush(0.0)
                    if self._mutes <= 1:  # later ones in a row are not reported
                        muted = lost.code == "audio-zeros" and self._has_sounded
                        self.emit(SourceChanged(lost=True, message=str(lost), muted=muted))
                    self._reopen()
        finally:
            with closing(self._utterances):  # speech is kept even if the source failed
                self._flush(0.0)

    def _reopen(self) -> None:
        attempt, stuck, told = 0, 0, ""
        # A stop ends the wait, so the pause does not delay the program's end.
        while not self._stopping.wait(_REOPEN_S[min(attempt, len(_REOPEN_S) - 1)]):
            attempt += 1
            # A missing microphone is no hang. A restart would not bring it back.
            self.beat_s = time.monotonic()
            try:
                self._source.open()
            except AudioError as error:
                stuck = stuck + 1 if error.code == "audio-stuck" else 0
                if stuck >= _STUCK:
                    raise  # the audio system hangs in this process: only a new process helps
                # It is there and cannot be used: looking at the cable does not help any more.
                if not (self._mutes or error.code in (told, *_NO_NEWS)):
                    told = error.code
                    self.emit(SourceChanged(lost=True, message=str(error)))
                continue
            self._zeros_s = 0.0
            # A muted device can be opened too; only sound proves it is back (`_hear_zeros`).
            if not self._mutes:
                self._back("is back")
            return

    def _back(self, how: str) -> None:
        self.emit(SourceChanged(lost=False, message=f"{self._source.name} {how}"))

    def _hear_zeros(self, block: AudioBlock) -> None:
        """Raise AudioLostError (audio-zeros) after too many seconds of zeros."""
        if block.pcm.any():
            self._has_sounded = True
            self._zeros_s = 0.0
            if self._mutes:
                self._mutes = 0
                self._back("gives more than zeros again")
            return
        self._zeros_s += len(block.pcm) / SAMPLE_RATE
        if self._zeros_s > _ZEROS_S[min(self._mutes, len(_ZEROS_S) - 1)]:
            self._mutes += 1
            message = f"{self._source.name} gives nothing but zeros."
            fix = "Is it muted? Look at the microphone's switch, the mixer and the cable."
            raise AudioLostError("audio-zeros", message, fix)

    def _take(self, block: AudioBlock) -> None:
        self.beat_s = time.monotonic()
        # Read before `heard_s` advances: the main thread counts from `heard_s`
        # (pipeline.daemon.captions.coordinator).
        off_record = self._off_record
        if block.start_sample != round(self.heard_s * SAMPLE_RATE):
            self._reset()  # their state does not lead up to this block
        self.heard_s = (block.start_sample + len(block.pcm)) / SAMPLE_RATE
        # Also while paused or off the record, so the meter shows that the microphone works.
        self._measure(block)
        if self._source.bad_samples and not self._told_bad:
            self._told_bad = True
            message = f"{self._source.name} gives samples that are not numbers; silence instead."
            self.emit(Fault(self.name, "audio-bad-samples", message))
        # Relates samples to the clock; all latencies are computed from this.
        now_at_zero = block.arrived_s - self.heard_s
        if self._forget.is_set() or off_record:
            self._forget.clear()
            self._segmenter.discard()
            self._reset()
            if self._gate.discard():
                self._tell_song(held=False, at_s=self.heard_s)
        if off_record:
            self._zeros_s = 0.0
            return
        if self.paused:
            # Speech before the pause gets its final; after that nothing is open.
            self._flush(now_at_zero)
            self._zeros_s = 0.0  # during a pause the microphone may be muted
            self._look_for_forgotten(*self._detect(block))
            return
        if self._keep.is_set():
            # Cleared first, so a request that comes meanwhile is handled with the next block.
            self._keep.clear()
            self._segmenter.settle()
        self._hear(block, now_at_zero)
        if self._zeros_mean_lost:
            # Last, since it may raise; by then this block has been processed.
            self._hear_zeros(block)

    def _reset(self) -> None:
        self._detector.reset()
        if self._songs is not None:
            self._songs.reset()

    def _hear(self, block: AudioBlock, now_at_zero: float) -> None:
        """Cut a block into utterances, unless it is song."""
        speech, song = self._detect(block)
        # With every block, since the operator or a reload may have changed it.
        detects = self._songs is not None and self.song == "auto"
        self._pass(self._gate.steer(self._wanted(), detects=detects), now_at_zero)
        self._pass(self._gate.push((block, speech), song), now_at_zero)
        self._look_for_forgotten(speech, song)

    def _detect(self, block: AudioBlock) -> tuple[float, float | None]:
        """Return the probabilities of speech and of song; None for song if it is not detected."""
        speech = self._detector.probability(block.pcm)
        songs = self._songs if self.song == "auto" else None
        return speech, None if songs is None else songs.probability(block.pcm, speech)

    def _look_for_forgotten(self, speech: float, song: float | None) -> None:
        """Report if somebody has been speaking for long without captions or with blank screens."""
        if self.paused:
            forgotten = "pause-forgotten"
        elif self._wanted() == "hold":
            forgotten = "song-hold-forgotten"
        else:
            forgotten = "blank-forgotten" if self.blank else ""
        if not forgotten:
            self._forgotten.reset()
        elif self._forgotten.push(speech, song):
            self.emit(Fault(self.name, forgotten, _FORGOTTEN[forgotten]))

    def _wanted(self) -> SongControl:
        return "auto" if self.song == "off" else self.song_control

    def _pass(self, passage: Passage, now_at_zero: float) -> None:
        """Do what the gate says. The audio that it kept is handled before later audio."""
        if passage.song_from is not None:
            # An operator's hold has no start sample (the gate's _NOW); it begins now.
            from_s = min(passage.song_from / SAMPLE_RATE, self.heard_s)
            # Before the hold is reported: the final of the speech before the song comes first.
            self._send(self._segmenter.cut(passage.song_from), now_at_zero)
            self._song_from_s = from_s
            self._tell_song(held=True, at_s=self.heard_s)
        if passage.is_over:
            # The audio that the gate kept gets captions now, so the hold ended at its start.
            first = (
                passage.heard[0][0].start_sample / SAMPLE_RATE if passage.heard else self.heard_s
            )
            self._tell_song(held=False, at_s=first)
        for block, speech in passage.heard:
            self._send(self._segmenter.push(block, speech), now_at_zero)
            # In a service the text comes in time.
            if self._waits_for_text and self._segmenter.awaits_text:
                self._utterances.wait_until_done(_TEXT_S)

    def _tell_song(self, *, held: bool, at_s: float) -> None:
        by: Literal["detector", "operator"]
        by = "detector" if self._wanted() == "auto" else "operator"
        self.emit(SongChanged(held, by, round(self._song_from_s, 2), round(at_s, 2)))

    def _flush(self, now_at_zero: float) -> None:
        """Close the open utterance: no more sound follows."""
        self._pass(self._gate.flush(), now_at_zero)
        self._send(self._segmenter.flush(), now_at_zero)

    def _send(self, utterances: list[Utterance], now_at_zero: float) -> None:
        """Add times and queue. `now_at_zero` is the monotonic time of sample 0, 0.0 if unknown."""
        for utterance in utterances:
            # It may have been set since this block came.
            if self._off_record:
                return
            if self._is_held(utterance):
                if utterance.cause == "eager":  # it gets no text that tells how long to wait
                    self._segmenter.expect_more(utterance, 0.0)
                continue
            closed_s = time.monotonic()
            # Without a block the samples have no clock: the utterance counts as just spoken.
            spoken_s = utterance.end_s + now_at_zero if now_at_zero else closed_s
            stamped = replace(utterance, spoken_s=spoken_s, closed_s=closed_s)
            # Before it is queued, so the main thread gets it before all results made from it.
            if stamped.final or stamped.cause == "resumed":
                self.emit(stamped)
            # May wait for room; meanwhile the capture queue drops and counts its oldest audio.
            self._utterances.put(stamped)
            # It is open again, so `_tell_settled` must not report it as settled.
            if stamped.cause == "resumed":
                self._resumable = None
        self._tell_settled()

    def _tell_settled(self) -> None:
        """Report when speech can no longer return to the last final."""
        before, self._resumable = self._resumable, self._segmenter.resumable
        if before is not None and before != self._resumable:
            self.emit(Settled(before))

    def _is_held(self, utterance: Utterance) -> bool:
        """Whether the machine is too far behind for this one. A final is never held here."""
        if utterance.cause == "eager":
            return self._degradation.rung is not Rung.FULL
        if utterance.cause != "partial":
            return False
        self._partials += 1
        return self._degradation.spares_partial(self._partials)

    def _measure(self, block: AudioBlock) -> None:
        self._meter.append(block)
        if len(self._meter) < _LEVEL_BLOCKS:
            return
        pcm = np.concatenate([b.pcm for b in self._meter])
        self._meter.clear()
        speaking = self._segmenter.speaking and not (self.paused or self._off_record)
        self.emit(measure(pcm, speaking=speaking))
