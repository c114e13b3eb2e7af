"""The queues between the threads.

listen -> UtteranceQueue -> transcribe -> DraftQueue -> translate

UtteranceQueue: every final in order, only the newest partial. A slow recognizer lowers the rate of
partials by itself, since an unread partial is replaced. When `limit` finals wait, `put` waits too;
the capture queue then fills and drops its oldest audio, counted. An eager utterance has its final's
place: who takes it makes the final's text, and the final itself is not handed over again. When
speech returns, what waits of the utterance goes. DraftQueue: at most DRAFT_LIMIT;
when it is full the draft itself becomes the final, so nothing is dropped there either.
TranscriptQueue: to each extra target; who puts never waits there.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from pipeline.core.types import Caption, Transcript, Utterance

DRAFT_LIMIT = 4

_RESUMED = 16
"""Resumptions remembered. Only the newest utterance is ever resumed; work on it may still run."""

_FILLS = 40
"""Transcripts that may wait for a language that somebody has just begun to watch."""

_LOOK_S = 0.1
"""How often it is looked whether there is time for them."""

_HANDED = 256
"""Ids remembered of utterances that an extra target was given whole."""

_ATTEMPTS = 5
"""So often a retranslation makes way for a draft before the quick one has to do."""


@dataclass(frozen=True, slots=True)
class Retranslation:
    """A text to be translated between what is said: an operator has written it, mostly."""

    ticket: int
    """Tells its results from those of an earlier text of the same caption."""
    transcript: Transcript
    """The text; its utterance has no samples."""
    quick: Caption | None = None
    """What the quick translator made of it."""
    attempts: int = 0
    """How often the final translator has begun."""
    is_speech: bool = False
    """Nobody has written it: it was said, and could not be translated then."""

    @property
    def may_repeat(self) -> bool:
        """Whether it may make way once more."""
        return self.attempts < _ATTEMPTS


Draft: TypeAlias = tuple[Caption, float]
"""A caption that waits for its final translation, and when it was handed over (monotonic)."""


class DraftQueue(queue.Queue[Draft | None]):
    """Carries drafts from transcribe to translate; None is the end.

    Retranslations wait beside it: they are taken when no draft waits, and have no limit.
    """

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._asked: deque[Retranslation] = deque()

    def ask(self, request: Retranslation) -> None:
        """Add a retranslation; never waits."""
        with self.not_empty:
            self._asked.append(request)
            # queue.Queue's own condition: who waits for a draft is woken for this as well.
            self.not_empty.notify()

    def take(self) -> Draft | Retranslation | None:
        """Wait for the next draft, else a retranslation. None is the end."""
        with self.not_empty:
            self.not_empty.wait_for(lambda: self._qsize() or self._asked)
            if not self._qsize():
                # An operator waits for what they have written; of the rest the first comes first.
                asked = next((each for each in self._asked if not each.is_speech), self._asked[0])
                self._asked.remove(asked)
                return asked
            draft = self._get()
            # As `queue.Queue.get` does: `put` waits for just this.
            self.not_full.notify()
            return draft

    @property
    def waiting_since_s(self) -> float:
        """When the draft that waits longest was handed over (monotonic), infinity for none."""
        with self.mutex:
            first = self.queue[0] if self.queue else None
        # None there is the end, and waits for nothing.
        return first[1] if first else math.inf

    def discard_asked(self) -> None:
        """Throw away the retranslations that wait."""
        with self.mutex:
            self._asked.clear()


class _Asked:
    """What the queues to the quick translators share: retranslations, and an end."""

    def __init__(self) -> None:
        self._asked: deque[Retranslation] = deque()
        self._closed = False
        self._changed = threading.Condition()
        """Guards all that waits."""

    def ask(self, request: Retranslation) -> None:
        """Add a retranslation; never waits. A language that rests translates it as well."""
        with self._changed:
            self._asked.append(request)
            self._changed.notify_all()


class UtteranceQueue(_Asked):
    """Carries utterances from one thread to another."""

    def __init__(self, limit: int = 32) -> None:
        super().__init__()
        # Each final holds its samples: without a limit, one that nobody takes fills the memory.
        self._limit = limit
        self._finals: deque[Utterance] = deque()
        self._partial: Utterance | None = None
        self._eager: Utterance | None = None
        self._resumed: dict[int, int] = {}
        self.replaced_partials = 0

    def __len__(self) -> int:
        """Return how many finals wait, eager ones included."""
        return len(self._finals)

    @property
    def is_full(self) -> bool:
        """Whether `put` would wait for room with the next final. Any thread may ask."""
        return len(self._finals) >= self._limit

    @property
    def waiting_since_s(self) -> float:
        """When the utterance that waits longest was closed (monotonic), infinity for none."""
        with self._changed:
            return self._finals[0].closed_s if self._finals else math.inf

    def put(self, utterance: Utterance) -> None:
        """Add a final or an eager one, waiting for room, or replace the partial."""
        with self._changed:
            # What comes has all of the waiting partial in it, or follows its end.
            if self._partial is not None:
                self.replaced_partials += 1
            self._partial = None
            if utterance.cause == "resumed":
                self._resume(utterance)
            elif not utterance.is_whole:
                self._partial = utterance
            elif not self._confirm(utterance):
                # `take` and `discard` make room. `close` ends the wait where nobody takes any more.
                self._changed.wait_for(lambda: not self.is_full or self._closed)
                self._finals.append(utterance)
                # Remembered when it is taken, too: `_confirm` must not hand its final over.
                self._eager = None if utterance.final else utterance
            self._changed.notify_all()

    def is_stale(self, utterance: Utterance) -> bool:
        """Whether speech has returned to an utterance since; any thread may ask."""
        return utterance.revision < self._resumed.get(utterance.id, 0)

    def _resume(self, utterance: Utterance) -> None:
        self._eager = None
        # `is_stale` reads it without the lock: one look into a dict is never half done.
        self._resumed[utterance.id] = utterance.revision
        if len(self._resumed) > _RESUMED:
            # A dict keeps its order, so the first is the oldest.
            del self._resumed[next(iter(self._resumed))]
        # Its final comes again, and has all of it: to hear the part alone would be in vain.
        kept = [each for each in self._finals if each.id != utterance.id]
        self._finals = deque(kept)

    def _confirm(self, final: Utterance) -> bool:
        """Put a final in the place of its eager utterance; return whether there was one."""
        eager, self._eager = self._eager, None
        if eager is None or eager.id != final.id or not final.final:
            return False
        # One that does not wait any more is being worked on: its text is the final's.
        for at, each in enumerate(self._finals):
            if each is eager:
                self._finals[at] = final
        return True

    def take(self) -> Utterance | Retranslation | None:
        """Wait for the next final, else a retranslation, else the newest partial. None: the end.

        A retranslation takes the quick translator's time for a text: a partial may wait for it.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._finals or self._asked or self._partial or self._closed
            )
            if self._asked and not self._finals:
                return self._asked.popleft()
            # It takes the lock again, which a Condition's lock allows its own thread.
            return self.get()

    def get(self) -> Utterance | None:
        """Wait for the next final, else the newest partial. None is the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._finals or self._partial or self._closed)
            if self._finals:
                self._changed.notify_all()
                return self._finals.popleft()  # `put` may wait for the room
            partial, self._partial = self._partial, None
            return partial

    def discard(self) -> None:
        """Throw away what waits."""
        with self._changed:
            self._finals.clear()
            self._asked.clear()
            self._partial = self._eager = None
            # The listen thread may be waiting for room.
            self._changed.notify_all()

    def close(self) -> None:
        """Let no more in; what waits can still be taken."""
        with self._changed:
            self._closed = True
            # `Listen.work` closes what is open first: its final waits here, and has all of it.
            self._partial = None
            self._changed.notify_all()


class TranscriptQueue(_Asked):
    """Carries transcripts to an extra target: whole ones in order, only the newest partial.

    Putting never waits, however slow the language is: `Utterance.pcm` of whole ones is left
    behind, and a language that falls behind gives up its translations, not its place.
    """

    def __init__(self, may_fill: Callable[[], bool]) -> None:
        """`may_fill`: whether there is time for what was said before somebody watched."""
        super().__init__()
        self._may_fill = may_fill
        self._whole: deque[tuple[Transcript, float]] = deque()  # with the time of its coming
        self._partial: Transcript | None = None
        self._fills: deque[Transcript] = deque(maxlen=_FILLS)
        self._handed: deque[int] = deque(maxlen=_HANDED)
        self._is_resting = False
        self._woke_s = -math.inf

    def __len__(self) -> int:
        """Return how many whole transcripts of what is said now wait."""
        return len(self._whole)

    @property
    def waiting_since_s(self) -> float:
        """When the whole one that waits longest came (monotonic), infinity for none.

        How long it had waited for the recognizer before that is no fault of this language.
        """
        with self._changed:
            return self._whole[0][1] if self._whole else math.inf

    def put(self, transcript: Transcript) -> None:
        """Add a whole transcript, or replace the partial. A resting language takes none.

        A language that has just woken leaves out what was closed before: nobody has told it of
        that. It is filled in.
        """
        with self._changed:
            self._partial = None
            # The partial goes even where this one is not taken: what it said is out of date.
            utterance = transcript.utterance
            if self._is_resting or (utterance.is_whole and utterance.closed_s < self._woke_s):
                return
            if not utterance.is_whole:
                self._partial = transcript
            else:
                self._handed.append(utterance.id)
                self._whole.append((without_sound(transcript), time.monotonic()))
            self._changed.notify_all()

    def fill(self, transcript: Transcript) -> None:
        """Add a settled one that the language was not given: the newest are taken first."""
        with self._changed:
            if transcript.utterance.id not in self._handed:
                self._handed.append(transcript.utterance.id)
                # The deque drops the oldest of too many: fewest people still have that on screen.
                self._fills.append(without_sound(transcript))
                self._changed.notify_all()

    def rest(self, resting: bool) -> None:
        """Take no more, and forget what waits; or begin again."""
        with self._changed:
            if self._is_resting and not resting:
                # The clock of `Utterance.closed_s`, with which `put` compares it.
                self._woke_s = time.monotonic()
            self._is_resting = resting
            if resting:
                self._drop()

    def take(self) -> Transcript | Retranslation | None:
        """Wait for the next whole one, else a retranslation, the partial, one to fill in.

        None is the end.
        """
        with self._changed:
            while not (self._whole or self._asked or self._partial or self._closed):
                # It takes the draft queue's lock inside this one; nobody takes them in reverse.
                if self._fills and self._may_fill():
                    return self._fills.pop()
                # With a limit: nobody tells when there is time, that depends on another queue.
                self._changed.wait(_LOOK_S if self._fills else None)
            if self._whole:
                return self._whole.popleft()[0]
            if self._asked:
                return self._asked.popleft()
            partial, self._partial = self._partial, None
            return partial

    def discard(self) -> None:
        """Throw away what waits."""
        with self._changed:
            self._asked.clear()
            self._drop()

    def close(self) -> None:
        """Let no more in; whole ones that wait can still be taken."""
        with self._changed:
            self._closed = True
            self._partial = None
            # Old captions must not keep a service from ending.
            self._fills.clear()
            self._changed.notify_all()

    def _drop(self) -> None:
        self._whole.clear()
        self._fills.clear()
        # Else what is dropped here could never be filled in.
        self._handed.clear()
        self._partial = None


def without_sound(transcript: Transcript) -> Transcript:
    """Return a transcript that does not hold its utterance's samples in memory."""
    utterance = replace(transcript.utterance, pcm=np.zeros(0, np.float32))
    return replace(transcript, utterance=utterance)
