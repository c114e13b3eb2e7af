"""Turn blocks and speech probabilities into utterances: a state machine that counts samples. Pure.

No thread, clock or model. Hysteresis as Silero's authors use it: speech starts at `threshold` and
ends when the probability has stayed below `end_threshold` for `silence_ms`.

A pause is not yet the end of a sentence, so an utterance ends in three steps. After `eager_ms` of
silence the utterance is emitted as "eager": its final will have exactly these samples, and can be
prepared. At `silence_ms` the final follows. If speech returns within `reopen_ms`, it continues the
same utterance. Whenever speech returns after an eager or a final, an utterance "resumed" is emitted
first (the states of Deepgram's Flux: eager end of turn, turn resumed, end of turn).

Speakers do not pause only at the ends of sentences. So an incomplete utterance waits longer for the
rest, `join_ms`: a fragment (less than `fragment_ms` of speech), or a text that is too short or does
not end a sentence (`expect_more`). With `hold_ms` such an utterance is not even closed earlier:
`silence_ms` applies if the sentence is over, `hold_ms` if it probably goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from pipeline.audio.stretch import Closed, Stretch, blocks_in, milliseconds
from pipeline.audio.utterance_ids import UtteranceIds
from pipeline.config.schema import Vad
from pipeline.core.types import BLOCK_SAMPLES, AudioBlock, Cause, Utterance
from pipeline.text.sentences import HALF

_TAIL_BLOCKS = 6
"""Blocks kept after the last speech, about 190 ms: whispered endings and reverberation."""
_PAUSE_BLOCKS = 4
"""Shortest pause at which a long utterance is cut: 98 ms, rounded up to whole blocks."""
_RETURN_BLOCKS = 4
"""Speech that reopens an utterance, 128 ms: a short word must not count as a knock only because
the pause before it was taken for the end."""
_REOPENED_SHARE = 0.75
"""Share of the length limit up to which a final is reopened: a longer one would soon be cut."""
_UNTOLD_BLOCKS = 10
"""Extra silence, beyond the usual one, while the text has not arrived: 320 ms."""
_OPEN_CAUSES = ("partial", "eager", "resumed")


def last_finals(utterances: Iterable[Utterance]) -> list[Utterance]:
    """Return the last final of each utterance, in order; a reopened one has several finals."""
    return list({each.id: each for each in utterances if each.final}.values())


class Segmenter:
    """Cuts a stream of blocks into utterances; no sample of speech is lost or repeated."""

    def __init__(self, vad: Vad, *, ids: UtteranceIds | None = None) -> None:
        """Take the settings and the source of ids; None: they count from 1."""
        self.vad = vad
        """The settings from the next utterance on. Another thread may set them."""
        self._vad: Vad | None = None
        self._pre_roll: deque[AudioBlock] = deque()
        self._use(vad)
        self._open: Stretch | None = None
        self._eager: Utterance | None = None
        self._closed: Closed | None = None
        self._continues = False
        self._ids = ids or UtteranceIds()
        self._id = self._ids.last
        self._revision = 0
        self._next_partial = self._partial_blocks
        self._expected: int | None = None
        self._told: tuple[int, int, float] | None = None
        self._sentences: tuple[int, Sequence[float]] | None = None
        self._last_id = 0
        self._last_end: int | None = None
        self._before_end: int | None = None

    @property
    def speaking(self) -> bool:
        """Whether an utterance is open and long enough to be speech."""
        enough = self._min_blocks
        if self._continues:
            enough = 1
        elif self._goes_on:
            enough = min(enough, _RETURN_BLOCKS)
        return self._open is not None and sum(self._open.voiced) >= enough

    @property
    def resumable(self) -> int | None:
        """The id of the final that speech may still continue."""
        return self._closed.id if self._closed else None

    @property
    def awaits_text(self) -> bool:
        """Whether the text of the last speech decides what comes next, and is not known yet."""
        told, opened, eager = self._told or (0, 0, 0.0), self._open, self._eager
        if opened is None:
            return False
        if self._closed is not None:
            return told[0] != self._closed.id
        # The next block cuts it where a sentence ends, which a partial tells.
        if len(opened) == self._limit_blocks - 1:
            return True
        is_pause = opened.silence >= self._silence_blocks
        return is_pause and eager is not None and told[:2] != (eager.id, eager.revision)

    def push(self, block: AudioBlock, probability: float) -> list[Utterance]:
        """Take the next block and its speech probability; return the utterances now ready."""
        out: list[Utterance] = []
        # Samples are missing: the speech before and after the gap must not be joined.
        if self._expected not in (None, block.start_sample):
            out += self._close("gap")
            self._forget()
        self._expected = block.start_sample + len(block.pcm)
        # Only between utterances: the settings must not change within one.
        if self._open is None:
            self._use(self.vad)
        if self._open is None and probability < self._threshold:
            self._pre_roll.append(block)
            self._wait(block, probability)
            return out
        opened = self._open or self._start()
        voiced = probability >= self._end_threshold
        opened.add(block, probability, voiced=voiced)
        if self._closed is not None:
            # Add to both stretches: only enough speech decides which one continues.
            self._closed.stretch.add(block, probability, voiced=voiced)
            if self.speaking:
                out += self._return(self._closed, opened)
        # `_return` may have replaced the open stretch by the reopened one.
        return out + self._due(self._open or opened)

    def expect_more(self, utterance: Utterance, share: float) -> None:
        """Note the share of the extra wait for the newest text: 0, it is over, to 1, it goes on.

        Any thread may call this.
        """
        # One assignment of a new tuple: the listening thread reads either the old or the new one.
        self._told = (utterance.id, utterance.revision, share)

    def end_sentences(self, utterance: Utterance, ends_s: Sequence[float]) -> None:
        """Note where sentences of an open utterance end, in seconds from its beginning: it is cut
        there if it becomes too long. Any thread may call this.
        """
        self._sentences = (utterance.id, ends_s)

    def settle(self) -> None:
        """Let no speech continue the last final, and let the eager utterance wait for nothing."""
        self._closed = None
        if self._eager is not None:
            self.expect_more(self._eager, 0.0)

    def flush(self) -> list[Utterance]:
        """Close the open utterance, at the end of the source or before a pause; reopen nothing."""
        out = self._close("end")
        self._forget()
        return out

    def cut(self, song_from: int) -> list[Utterance]:
        """Close the open utterance where a song began; mark it `is_song` if it was only song."""
        out: list[Utterance] = []
        if (opened := self._open) is not None:
            before = opened.before(song_from)
            # A word before the first note is speech and is kept; a breath is not.
            said = sum(opened.voiced[:before]) >= (1 if self._continues else self._min_blocks)
            # Revision 0: nothing was emitted, so nothing has to be taken back.
            if said or self._revision:
                out = self._resume(opened)
                final = self._utterance(opened, before if said else len(opened), "song")
                out.append(replace(final, is_song=not said))
        self.discard()
        return out

    def discard(self) -> None:
        """Throw away the open utterance and the pre-roll."""
        self._open = self._eager = None
        self._continues = False
        self._revision = 0
        self._forget()

    def _use(self, vad: Vad) -> None:
        # Called for every block between utterances; only a change needs work.
        if vad is self._vad:
            return
        self._vad, vad = vad, vad.fitted({})
        self._threshold = vad.threshold
        self._end_threshold = vad.end_threshold
        self._silence_blocks = blocks_in(vad.silence_ms)
        self._eager_blocks = blocks_in(vad.eager_ms)
        self._reopen_blocks = blocks_in(vad.reopen_ms)
        self._keep_blocks = max(self._reopen_blocks, blocks_in(vad.join_ms))
        self._hold_blocks = max(self._silence_blocks, blocks_in(vad.hold_ms))
        self._fragment_blocks = blocks_in(vad.fragment_ms)
        self._min_blocks = blocks_in(vad.min_speech_ms)
        self._limit_blocks = blocks_in(vad.max_utterance_s * 1000)
        self._partial_blocks = blocks_in(vad.partial_ms)
        self._pre_roll = deque(self._pre_roll, maxlen=blocks_in(vad.pre_roll_ms))

    def _forget(self) -> None:
        """Let no later speech continue an earlier utterance."""
        self._pre_roll.clear()
        self._closed = None
        self._last_end = self._before_end = None

    def _start(self) -> Stretch:
        blocks = list(self._pre_roll)
        lead = len(blocks)
        # The pre-roll counts neither as speech nor as a place to cut.
        self._open = Stretch(blocks, [False] * lead, [0.0] * lead, lead)
        self._pre_roll.clear()
        self._next_partial = lead + self._partial_blocks
        if self._closed is not None:
            self._closed.pause = self._closed.waited
        return self._open

    def _wait(self, block: AudioBlock, probability: float) -> None:
        """Take a block without speech; after enough of them the last final stays closed."""
        if self._closed is not None:
            self._closed.stretch.add(block, probability, voiced=False)
            if self._closed.waited >= self._keep_blocks:
                self._closed = None

    @property
    def _goes_on(self) -> bool:
        """Whether the open speech may continue the last final."""
        closed = self._closed
        if closed is None:
            return False
        told = self._told
        is_half = (
            told is not None and told[0] == closed.id and told[2] >= HALF
        ) or closed.stretch.speech(closed.size) < self._fragment_blocks
        # Half a sentence waits `join_ms` for the rest, a whole sentence only `reopen_ms`.
        return closed.pause < (self._keep_blocks if is_half else self._reopen_blocks)

    def _return(self, closed: Closed, opened: Stretch) -> list[Utterance]:
        """Reopen the last final if the open speech continues it.

        A long final is reopened only for a fragment that fits, since the two would soon be cut
        elsewhere. That is known at the fragment's end; nothing is emitted before.
        """
        if not self._goes_on:
            self._closed = None
            return []
        if not self._is_long(closed):
            return self._reopen(closed, opened)
        self._continues = True
        is_too_long = len(closed.stretch) >= self._limit_blocks
        if is_too_long or opened.speech(len(opened)) >= self._fragment_blocks:
            self._closed = None
        elif opened.silence >= (self._eager_blocks or self._silence_blocks):
            return self._reopen(closed, opened)
        return []

    def _reopen(self, closed: Closed, opened: Stretch) -> list[Utterance]:
        self._closed = None
        # `_next_partial` counts blocks of the stretch, which has just grown at its beginning.
        self._next_partial += len(closed.stretch) - len(opened)
        self._open, self._revision = closed.stretch, closed.revision
        return [self._utterance(closed.stretch, len(closed.stretch), "resumed")]

    def _is_long(self, closed: Closed) -> bool:
        return len(closed.stretch) >= _REOPENED_SHARE * self._limit_blocks

    def _due(self, opened: Stretch) -> list[Utterance]:
        silence = opened.silence
        # The end first: a partial or a cut at the end would only be thrown away.
        if silence >= self._silence_blocks + self._held_blocks:
            return self._close("silence")
        if len(opened) >= self._limit_blocks:
            return self._resume(opened) + self._cut(opened)
        if not silence and self._eager is not None:
            return self._resume(opened)
        # Equal, not more: otherwise each later block would emit the utterance again.
        if self._eager_blocks and silence == self._eager_blocks and self.speaking:
            self._eager = self._utterance(opened, len(opened), "eager")
            self._next_partial = len(opened) + self._partial_blocks
            return [self._eager]
        if self._partial_due(opened, silence):
            self._closed = None  # from now on this is a separate utterance
            return [self._utterance(opened, len(opened), "partial")]
        return []

    @property
    def _held_blocks(self) -> float:
        """Blocks beyond the usual silence for which the open utterance waits for more."""
        # Without an eager utterance there is no text; at the limit there is no room for more.
        if self._eager is None or self._open is None or len(self._open) >= self._limit_blocks:
            return 0
        most = self._hold_blocks - self._silence_blocks
        told = self._told
        if told is not None and told[:2] == (self._eager.id, self._eager.revision):
            return most * told[2]
        # A final cannot be shown before its text arrives, so waiting until then costs nothing.
        return min(most, _UNTOLD_BLOCKS)

    def _partial_due(self, opened: Stretch, silence: int) -> bool:
        if not self._partial_blocks or not self.speaking or len(opened) < self._next_partial:
            return False
        # This may be the end: keep the recognizer free for the final.
        if silence >= (1 if self._eager_blocks else _PAUSE_BLOCKS):
            return False
        self._next_partial = len(opened) + self._partial_blocks
        return True

    def _resume(self, opened: Stretch) -> list[Utterance]:
        """Take back the eager utterance, if there is one."""
        if self._eager is None:
            return []
        self._eager = None
        return [self._utterance(opened, len(opened), "resumed")]

    def _close(self, cause: Cause) -> list[Utterance]:
        opened = self._open
        if opened is None:
            return []
        out: list[Utterance] = []
        kept = 0
        if self.speaking:
            kept = min(len(opened), opened.speech_end(len(opened)) + _TAIL_BLOCKS)
            if self._eager is not None:
                # Exactly the eager samples: the final's text may already be made from them.
                kept = len(self._eager.pcm) // BLOCK_SAMPLES
            # After a gap or the end nothing can continue it.
            can_resume = cause == "silence" and self._keep_blocks > 0
            out = [replace(self._utterance(opened, kept, cause), can_resume=can_resume)]
            # An utterance that was held has already waited.
            size = opened.speech_end(len(opened)) + self._silence_blocks
            closed = Closed(opened, self._id, out[0].revision, min(size, len(opened)))
            self._closed = closed if can_resume else None
        elif self._closed is not None and not self._is_long(self._closed):
            # Perhaps a very short word: the next speech decides.
            self._closed.size = len(self._closed.stretch)
        self._pre_roll.clear()
        # The blocks not emitted may be the beginning of the next utterance.
        self._pre_roll.extend(opened.blocks[kept:])
        self._open = self._eager = None
        self._continues = False
        return out

    def _cut(self, opened: Stretch) -> list[Utterance]:
        """Close at the best place; the rest stays open as the next utterance."""
        told, ends = self._sentences, list[int]()
        if told is not None and told[0] == self._id:
            ends = [blocks_in(1000 * end_s) for end_s in told[1]]
        at = opened.best_cut(_PAUSE_BLOCKS, ends)
        out = [self._utterance(opened, at, "length")]
        self._open = opened.split(at)
        # However short the rest is, it is speech: the minimum length is against knocks.
        self._continues = True
        self._use(self.vad)
        self._next_partial = self._partial_blocks
        return out

    def _utterance(self, opened: Stretch, count: int, cause: Cause) -> Utterance:
        """Return an utterance of the first `count` open blocks."""
        final = cause not in _OPEN_CAUSES
        # The first version takes the id, so that a knock takes none.
        if self._revision == 0:
            self._id = self._ids.take()
        revision = self._revision + 1
        self._revision = 0 if final else revision
        blocks = opened.blocks[:count]
        # At least the first block: a song that is cut off may have no speech.
        last = blocks[max(opened.speech_end(count), 1) - 1]
        made = Utterance(
            id=self._id,
            revision=revision,
            final=final,
            cause=cause,
            start_sample=blocks[0].start_sample,
            end_sample=last.start_sample + len(last.pcm),
            pcm=np.concatenate([b.pcm for b in blocks]),
        )
        return self._with_pauses(made, opened, count) if final else made

    def _with_pauses(self, final: Utterance, opened: Stretch, count: int) -> Utterance:
        if final.id != self._last_id:  # else it was reopened: the utterance before it is the same
            self._before_end, self._last_id = self._last_end, final.id
        self._last_end = final.end_sample
        pauses_ms = tuple(milliseconds(length) for length in opened.pauses(count))
        if self._before_end is None:
            return replace(final, pauses_ms=pauses_ms)
        silence = opened.blocks[opened.speech_start].start_sample - self._before_end
        before_ms = milliseconds(silence / BLOCK_SAMPLES)
        return replace(final, pauses_ms=pauses_ms, pause_before_ms=before_ms)
