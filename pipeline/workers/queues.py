"""The queues between the threads.

listen -> UtteranceQueue -> transcribe -> DraftQueue -> translate

UtteranceQueue: every final in order, only the newest partial. A slow recognizer lowers the rate of
partials by itself, since an unread partial is replaced. When `limit` finals wait, `put` waits too;
the capture queue then fills, and drops and counts its oldest audio. An eager utterance takes its
final's place: its text is the final's text, and the final itself is not queued again. When speech
returns, waiting versions of the utterance are removed. DraftQueue: at most DRAFT_LIMIT; when it is
full, the draft itself becomes the final, so it drops nothing either.
TranscriptQueue: one for each extra target; `put` never waits.
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
"""Number of remembered resumptions. Only the newest utterance resumes; its work may still run."""

_FILLS = 40
"""Most transcripts that wait for a language that somebody has just begun to watch."""

_LOOK_S = 0.1
"""Interval of the check for time to translate them."""

_HANDED = 256
"""Number of remembered ids of whole utterances that an extra target got."""

MOST_ATTEMPTS = 5
"""Most times that a retranslation yields to a draft; then the quick translation remains."""


@dataclass(frozen=True, slots=True)
class Retranslation:
    """A text to translate between utterances, usually written by an operator."""

    ticket: int
    """Distinguishes its results from those of an earlier text of the same caption."""
    transcript: Transcript
    """The text; its utterance has no samples."""
    quick: Caption | None = None
    """The quick translation of it."""
    attempts: int = 0
    """How often the final translator has begun."""
    is_speech: bool = False
    """True for speech that could not be translated at its time; nobody has written it."""


Draft: TypeAlias = tuple[Caption, float]
"""A caption that waits for its final translation, and when it was queued (monotonic)."""


class DraftQueue(queue.Queue[Draft | None]):
    """Carries drafts from transcribe to translate; None is the end.

    Retranslations wait separately: they are taken when no draft waits, and have no limit.
    """

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._asked: deque[Retranslation] = deque()

    def ask(self, request: Retranslation) -> None:
        """Add a retranslation; never waits."""
        with self.not_empty:
            self._asked.append(request)
            # This is queue.Queue's own condition, so it also wakes a thread that waits for a draft.
            self.not_empty.notify()

    def take(self) -> Draft | Retranslation | None:
        """Wait for the next draft, else a retranslation. None is the end."""
        with self.not_empty:
            self.not_empty.wait_for(lambda: self._qsize() or self._asked)
            if not self._qsize():
                # Operators' texts first, since operators wait for them; then the others in order.
                asked = next((each for each in self._asked if not each.is_speech), self._asked[0])
                self._asked.remove(asked)
                return asked
            draft = self._get()
            # As in `queue.Queue.get`: `put` waits for this.
            self.not_full.notify()
            return draft

    @property
    def waiting_since_s(self) -> float:
        """When the draft that waits longest was queued (monotonic), infinity for none."""
        with self.mutex:
            first = self.queue[0] if self.queue else None
        # None in the queue marks the end and does not wait.
        return first[1] if first else math.inf

    def discard_asked(self) -> None:
        """Discard the waiting retranslations."""
        with self.mutex:
            self._asked.clear()


class _Asked:
    """Base of the queues to the quick translators: retranslations, and an end."""

    def __init__(self) -> None:
        self._asked: deque[Retranslation] = deque()
        self._closed = False
        self._changed = threading.Condition()
        """Guards all that waits."""

    def ask(self, request: Retranslation) -> None:
        """Add a retranslation; never waits. A resting language translates it too."""
        with self._changed:
            self._asked.append(request)
            self._changed.notify_all()


class UtteranceQueue(_Asked):
    """Carries utterances from one thread to another."""

    def __init__(self, limit: int = 32) -> None:
        super().__init__()
        # Each final holds its samples: without a limit, untaken finals fill the memory.
        self._limit = limit
        self._finals: deque[Utterance] = deque()
        self._partial: Utterance | None = None
        self._eager: Utterance | None = None
        self._resumed: dict[int, int] = {}
        self._is_idle = False
        self.replaced_partials = 0

    def __len__(self) -> int:
        """Return the number of waiting finals, eager ones included."""
        return len(self._finals)

    @property
    def is_full(self) -> bool:
        """Whether `put` would wait for room with the next final. Any thread may read it."""
        return len(self._finals) >= self._limit

    @property
    def waiting_since_s(self) -> float:
        """When the utterance that waits longest was closed (monotonic), infinity for none."""
        with self._changed:
            return self._finals[0].closed_s if self._finals else math.inf

    def put(self, utterance: Utterance) -> None:
        """Add a final or an eager one, waiting for room, or replace the partial."""
        with self._changed:
            # The new utterance contains the waiting partial, or follows its end.
            if self._partial is not None:
                self.replaced_partials += 1
            self._partial = None
            if utterance.cause == "resumed":
                self._resume(utterance)
            elif not utterance.is_whole:
                self._partial = utterance
            elif not self._confirm(utterance):
                # `take` and `discard` make room. `close` ends the wait if no thread takes any more.
                self._changed.wait_for(lambda: not self.is_full or self._closed)
                self._finals.append(utterance)
                # Remembered after it is taken too: `_confirm` must not queue its final.
                self._eager = None if utterance.final else utterance
            self._changed.notify_all()

    def is_stale(self, utterance: Utterance) -> bool:
        """Whether speech has returned to an utterance since. Any thread may call this."""
        return utterance.revision < self._resumed.get(utterance.id, 0)

    def _resume(self, utterance: Utterance) -> None:
        self._eager = None
        # `is_stale` reads it without the lock: a single dict lookup is atomic.
        self._resumed[utterance.id] = utterance.revision
        if len(self._resumed) > _RESUMED:
            # A dict keeps its order, so the first is the oldest.
            del self._resumed[next(iter(self._resumed))]
        # Its new final contains everything, so recognizing the part alone would be useless.
        kept = [each for each in self._finals if each.id != utterance.id]
        self._finals = deque(kept)

    def _confirm(self, final: Utterance) -> bool:
        """Replace an eager utterance by its final; return whether there was one."""
        eager, self._eager = self._eager, None
        if eager is None or eager.id != final.id or not final.final:
            return False
        # If it does not wait any more, it is being processed, and its text is the final's.
        for at, each in enumerate(self._finals):
            if each is eager:
                self._finals[at] = final
        return True

    def take(self) -> Utterance | Retranslation | None:
        """Wait for the next final, else a retranslation, else the newest partial. None is the end.

        A partial may wait while the quick translator translates a retranslation.
        """
        with self._changed:
            self._is_idle = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._finals or self._asked or self._partial or self._closed
            )
            self._is_idle = False
            if self._finals:
                self._changed.notify_all()
                return self._finals.popleft()  # `put` may wait for the room
            if self._asked:
                return self._asked.popleft()
            partial, self._partial = self._partial, None
            return partial

    def wait_until_done(self, most_s: float) -> None:
        """Wait until everything is taken and processed, `most_s` at most."""
        with self._changed:
            self._changed.wait_for(
                lambda: (self._is_idle and not (self._finals or self._partial)) or self._closed,
                most_s,
            )

    def discard(self) -> None:
        """Discard everything that waits."""
        with self._changed:
            self._finals.clear()
            self._asked.clear()
            self._partial = self._eager = None
            # The listen thread may be waiting for room.
            self._changed.notify_all()

    def close(self) -> None:
        """Accept no more; what waits can still be taken."""
        with self._changed:
            self._closed = True
            # `Listen.work` first closes the open utterance: its final waits here with all of it.
            self._partial = None
            self._changed.notify_all()


class TranscriptQueue(_Asked):
    """Carries transcripts to an extra target: whole ones in order, only the newest partial.

    `put` never waits, however slow the language is. Whole ones are stored without `Utterance.pcm`,
    and a language that falls behind gives up its translations, not its place.
    """

    def __init__(self, may_fill: Callable[[], bool]) -> None:
        """`may_fill` tells whether there is time for speech from before somebody watched."""
        super().__init__()
        self._may_fill = may_fill
        self._whole: deque[tuple[Transcript, float]] = deque()  # with its arrival time
        self._partial: Transcript | None = None
        self._fills: deque[Transcript] = deque(maxlen=_FILLS)
        self._handed: deque[int] = deque(maxlen=_HANDED)
        self._is_resting = False
        self._woke_s = -math.inf

    def __len__(self) -> int:
        """Return the number of waiting whole transcripts of current speech."""
        return len(self._whole)

    @property
    def waiting_since_s(self) -> float:
        """When the whole transcript that waits longest came (monotonic), infinity for none.

        Its earlier wait for the recognizer does not count, since it is no fault of this language.
        """
        with self._changed:
            return self._whole[0][1] if self._whole else math.inf

    def put(self, transcript: Transcript) -> None:
        """Add a whole transcript, or replace the partial. A resting language takes none.

        A language that has just woken skips utterances that were closed before: it did not get
        them, and `fill` adds them.
        """
        with self._changed:
            self._partial = None
            # The partial goes even if this transcript is not taken, since it is out of date.
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
        """Add a settled transcript that the language did not get. The newest is taken first."""
        with self._changed:
            if transcript.utterance.id not in self._handed:
                self._handed.append(transcript.utterance.id)
                # The full deque drops the oldest, which is on the fewest screens.
                self._fills.append(without_sound(transcript))
                self._changed.notify_all()

    def rest(self, resting: bool) -> None:
        """Accept no more and forget what waits, or begin again."""
        with self._changed:
            if self._is_resting and not resting:
                # The clock of `Utterance.closed_s`, with which `put` compares it.
                self._woke_s = time.monotonic()
            self._is_resting = resting
            if resting:
                self._drop()

    def take(self) -> Transcript | Retranslation | None:
        """Wait for the next whole one, else a retranslation, else the partial, else one to fill in.

        None is the end.
        """
        with self._changed:
            while not (self._whole or self._asked or self._partial or self._closed):
                # It takes the draft queue's lock inside this one; no code takes them in reverse.
                if self._fills and self._may_fill():
                    return self._fills.pop()
                # With a timeout: `_may_fill` depends on another queue, which does not notify.
                self._changed.wait(_LOOK_S if self._fills else None)
            if self._whole:
                return self._whole.popleft()[0]
            if self._asked:
                return self._asked.popleft()
            partial, self._partial = self._partial, None
            return partial

    def discard(self) -> None:
        """Discard everything that waits."""
        with self._changed:
            self._asked.clear()
            self._drop()

    def close(self) -> None:
        """Accept no more; whole ones that wait can still be taken."""
        with self._changed:
            self._closed = True
            self._partial = None
            # Old captions must not keep a service from ending.
            self._fills.clear()
            self._changed.notify_all()

    def _drop(self) -> None:
        self._whole.clear()
        self._fills.clear()
        # Otherwise the dropped ones could never be filled in.
        self._handed.clear()
        self._partial = None


def without_sound(transcript: Transcript) -> Transcript:
    """Return a transcript that does not hold its utterance's samples in memory."""
    utterance = replace(transcript.utterance, pcm=np.zeros(0, np.float32))
    return replace(transcript, utterance=utterance)
