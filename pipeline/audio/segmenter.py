"""Blocks and speech probabilities in, utterances out: a state machine that counts samples.

No thread, clock or model. Hysteresis as Silero's authors use it: speech starts at `threshold` and
ends when the probability has stayed below `end_threshold` for `silence_ms`.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from pipeline.config.schema import Vad
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock, Cause, Utterance

_TAIL_BLOCKS = 6
"""Blocks kept behind the last speech, about 190 ms: whispered endings and room."""

_PAUSE_BLOCKS = 4
"""Shortest pause at which a long utterance is cut: 98 ms, rounded up to whole blocks."""


def blocks_in(ms: float) -> int:
    """Return how many blocks `ms` milliseconds fill, rounded up."""
    return -int(-ms * SAMPLE_RATE // (1000 * BLOCK_SAMPLES))


class Segmenter:
    """Cuts a stream of blocks into utterances; no sample of speech is lost or given twice."""

    def __init__(self, vad: Vad, *, last_id: int = 0) -> None:
        """Take the settings, and the id of the last utterance before the first one here."""
        self.vad = vad
        """What holds from the next utterance on. Another thread may set it."""
        self._vad: Vad | None = None
        self._pre_roll: deque[AudioBlock] = deque()
        self._use(vad)
        self._open: list[AudioBlock] = []
        self._voiced: list[bool] = []
        self._probabilities: list[float] = []
        self._lead = 0
        self._continues = False
        self._id = last_id
        self._revision = 0
        self._next_partial = self._partial_blocks
        self._expected: int | None = None

    @property
    def speaking(self) -> bool:
        """Whether an utterance is open and long enough to be speech."""
        enough = 1 if self._continues else self._min_blocks
        return sum(self._voiced) >= enough

    def push(self, block: AudioBlock, probability: float) -> list[Utterance]:
        """Take the next block with its speech probability; return what is now ready, in order."""
        out: list[Utterance] = []
        if self._expected not in (None, block.start_sample):
            out += self._close("gap")
            self._pre_roll.clear()
        self._expected = block.start_sample + len(block.pcm)
        if not self._open:
            self._use(self.vad)
        if not self._open and probability < self._threshold:
            self._pre_roll.append(block)
            return out
        if not self._open:
            self._start()
        self._open.append(block)
        self._voiced.append(probability >= self._end_threshold)
        self._probabilities.append(probability)
        if self._trailing_silence() >= self._silence_blocks:
            out += self._close("silence")
        elif len(self._open) >= self._limit_blocks:
            out += self._cut()
        elif self._partial_due():
            out.append(self._utterance(len(self._open), "partial"))
        return out

    def flush(self) -> list[Utterance]:
        """Close what is open, at the end of the source."""
        return self._close("end")

    def _use(self, vad: Vad) -> None:
        if vad is self._vad:
            return
        self._vad = vad
        self._threshold = vad.threshold
        self._end_threshold = vad.end_threshold
        self._silence_blocks = blocks_in(vad.silence_ms)
        self._min_blocks = blocks_in(vad.min_speech_ms)
        self._limit_blocks = blocks_in(vad.max_utterance_s * 1000)
        self._partial_blocks = blocks_in(vad.partial_ms)
        self._pre_roll = deque(self._pre_roll, maxlen=blocks_in(vad.pre_roll_ms))

    def discard(self) -> None:
        """Throw away what is open, and what is kept from before a start."""
        self._pre_roll.clear()
        self._open, self._voiced, self._probabilities = [], [], []
        self._continues = False
        self._revision = 0

    def _start(self) -> None:
        self._open = list(self._pre_roll)
        self._lead = len(self._open)
        self._voiced = [False] * self._lead
        self._probabilities = [0.0] * self._lead
        self._pre_roll.clear()
        self._next_partial = self._lead + self._partial_blocks

    def _trailing_silence(self) -> int:
        return len(self._voiced) - self._last_voiced(len(self._voiced))

    def _last_voiced(self, index: int) -> int:
        """Return one past the last voiced block before `index`; the pre-roll never counts."""
        while index > self._lead and not self._voiced[index - 1]:
            index -= 1
        return index

    def _partial_due(self) -> bool:
        if not self._partial_blocks or not self.speaking or len(self._open) < self._next_partial:
            return False
        if self._trailing_silence() >= _PAUSE_BLOCKS:
            return False  # perhaps the end: keep the recognizer free for the final
        self._next_partial = len(self._open) + self._partial_blocks
        return True

    def _close(self, cause: Cause) -> list[Utterance]:
        if not self._open:
            return []
        kept = min(len(self._open), self._last_voiced(len(self._voiced)) + _TAIL_BLOCKS)
        out = [self._utterance(kept, cause)] if self.speaking else []
        rest = self._open[kept:] if out else self._open
        self._pre_roll.clear()
        self._pre_roll.extend(rest)
        self._open, self._voiced, self._probabilities = [], [], []
        self._continues = False
        return out

    def _cut(self) -> list[Utterance]:
        """Close at the best pause; what lies behind it stays open as the next utterance."""
        at = self._best_pause()
        rest = (self._open[at:], self._voiced[at:], self._probabilities[at:])
        out = [self._utterance(at, "length")]
        self._open, self._voiced, self._probabilities = rest
        self._lead = 0
        self._continues = True
        self._use(self.vad)
        self._next_partial = self._partial_blocks
        return out

    def _best_pause(self) -> int:
        """Return the index to cut at: amid the longest pause, else the least speech-like block.

        Not in the first quarter: that would leave a word on its own, and all the rest on the
        display would go and come back under another id, soon to be cut again.
        """
        best, best_at, run = 0, 0, 0
        first = len(self._open) // 4
        for index, voiced in enumerate(self._voiced):
            run = 0 if voiced or index < self._lead else run + 1
            if index >= first and run >= max(best, _PAUSE_BLOCKS):
                best, best_at = run, index + 1 - run // 2
        if best_at:
            return best_at
        half = len(self._open) // 2
        return half + 1 + int(np.argmin(self._probabilities[half:-1]))

    def _utterance(self, count: int, cause: Cause) -> Utterance:
        final = cause != "partial"
        if self._revision == 0:
            self._id += 1
        revision = self._revision + 1
        self._revision = 0 if final else revision
        blocks = self._open[:count]
        last = blocks[max(self._last_voiced(count), 1) - 1]
        return Utterance(
            id=self._id,
            revision=revision,
            final=final,
            cause=cause,
            start_sample=blocks[0].start_sample,
            end_sample=last.start_sample + len(last.pcm),
            pcm=np.concatenate([b.pcm for b in blocks]),
        )
