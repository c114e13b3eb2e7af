"""Consecutive blocks with the voice detector's result for each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock

_NOTED_BLOCKS = 2
"""The shortest silence inside an utterance that is recorded."""

_NEAR_BLOCKS = 8
"""How exactly a recognizer knows when a word ends: 256 ms."""
_AWAY = 0.05
"""Cost of a block between a cut and that time: less than a pause, more than chance."""


def blocks_in(ms: float) -> int:
    """Return how many blocks `ms` milliseconds fill, rounded up."""
    # Floor division negated twice rounds up, without floating-point error.
    return -int(-ms * SAMPLE_RATE // (1000 * BLOCK_SAMPLES))


def milliseconds(blocks: float) -> int:
    """Return the duration of so many blocks."""
    return round(1000 * blocks * BLOCK_SAMPLES / SAMPLE_RATE)


@dataclass(slots=True)
class Stretch:
    """Consecutive blocks, whether each is voiced and how probably it is speech."""

    blocks: list[AudioBlock] = field(default_factory=list)
    voiced: list[bool] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    lead: int = 0
    """Number of pre-roll blocks at the beginning."""

    def __len__(self) -> int:
        return len(self.blocks)

    def add(self, block: AudioBlock, probability: float, *, voiced: bool) -> None:
        """Append the next block."""
        self.blocks.append(block)
        self.voiced.append(voiced)
        self.probabilities.append(probability)

    def split(self, at: int) -> Stretch:
        """Return the blocks from index `at` on, as a stretch without pre-roll."""
        return Stretch(self.blocks[at:], self.voiced[at:], self.probabilities[at:])

    def before(self, sample: int) -> int:
        """Return how many blocks begin before a sample."""
        # The block that contains the sample counts as before: no speech must be lost.
        return sum(block.start_sample < sample for block in self.blocks)

    @property
    def silence(self) -> int:
        """Blocks since the last voiced one."""
        return len(self) - self.speech_end(len(self))

    def speech_end(self, index: int) -> int:
        """Return one past the last voiced block before `index`; the pre-roll never counts."""
        # Not below the pre-roll: `lead` means that no block was voiced.
        while index > self.lead and not self.voiced[index - 1]:
            index -= 1
        return index

    @property
    def speech_start(self) -> int:
        """The index of the first voiced block."""
        return next((i for i, voiced in enumerate(self.voiced) if voiced), self.lead)

    def pauses(self, count: int) -> tuple[int, ...]:
        """Return the lengths in blocks of the silences within the first `count` blocks."""
        lengths, run = [], 0
        for voiced in self.voiced[self.speech_start : self.speech_end(count)]:
            # Recorded when speech returns: only then the length of a silence is known.
            if voiced and run >= _NOTED_BLOCKS:
                lengths.append(run)
            run = 0 if voiced else run + 1
        return tuple(lengths)

    def speech(self, count: int) -> int:
        """Return the length of the speech in the first `count` blocks, its pauses included."""
        return self.speech_end(count) - self.speech_start

    def best_cut(self, least: int, sentence_ends: Sequence[int] = ()) -> int:
        """Return the index to cut at: at the last of `sentence_ends`, else in the longest pause,
        else at the least speech-like block.

        Not in the first quarter: that would leave a single word. The rest would disappear from
        the display, return under another id and soon be cut again.
        """
        best, best_at, run = 0, 0, 0
        first = len(self) // 4
        if ends := [end for end in sentence_ends if first <= end < len(self) - _NEAR_BLOCKS]:
            near = range(max(first, ends[-1] - _NEAR_BLOCKS), ends[-1] + _NEAR_BLOCKS)

            def cost(at: int) -> float:
                # Over three blocks, since a single one may be quiet within a word.
                return sum(self.probabilities[at - 1 : at + 2]) + _AWAY * abs(at + 1 - ends[-1])

            return 1 + min(near, key=cost)
        for index, voiced in enumerate(self.voiced):
            run = 0 if voiced or index < self.lead else run + 1
            # Of equal pauses the later one: then the open rest is short.
            if index >= first and run >= max(best, least):
                best, best_at = run, index + 1 - run // 2
        if best_at:
            return best_at
        # No pause: cut in the second half, so that the closed part is long enough to understand.
        half = len(self) // 2
        # Without the last block: a cut after it would leave nothing open.
        return half + 1 + int(np.argmin(self.probabilities[half:-1]))


@dataclass(slots=True)
class Closed:
    """The last final while speech may continue it, with all blocks since it began."""

    stretch: Stretch
    id: int
    revision: int
    size: int
    """Blocks of the stretch at the start of the pause in which it may be reopened."""
    pause: int = 0
    """Blocks of that pause until the open speech."""

    @property
    def waited(self) -> int:
        """Blocks since the pause began."""
        return len(self.stretch) - self.size
