"""Detect repetition loops, a common failure of autoregressive decoders. Pure.

Items are words or tokens; a loop is one n-gram repeated with nothing between.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipeline.text.words import words

__all__ = ["Loop", "anywhere", "at_end", "compression_ratio", "cut", "longest", "words"]

T = TypeVar("T")

MAX_PERIOD = 16
"""Longest n-gram to detect."""

_MIN_ITEMS = 12
_MIN_COUNT = 4


@dataclass(frozen=True, slots=True)
class Loop:
    """The n-gram `items[start : start + period]`, `count` times in a row. `count` 1: no loop."""

    start: int = 0
    period: int = 0
    count: int = 1

    @property
    def length(self) -> int:
        """Items covered by all the repeats."""
        return self.period * self.count


def longest(items: Sequence[Hashable], max_period: int = MAX_PERIOD) -> Loop:
    """Return the loop that covers the most items, among equals the one with the shortest period."""
    best = Loop()
    for period in range(1, min(max_period, len(items) // 2) + 1):
        run = 0
        # One step past the end closes a run that reaches it.
        for index in range(period, len(items) + 1):
            if index < len(items) and items[index] == items[index - period]:
                run += 1
                continue
            # A run counts the repeated items; the first round belongs to the loop too.
            loop = Loop(index - run - period, period, run // period + 1)
            if loop.count > 1 and loop.length > best.length:
                best = loop
            run = 0
    return best


def at_end(items: Sequence[Hashable], allowed: int) -> Loop | None:
    """Return the runaway loop at the end of `items`, if any; to be called after every token.

    `allowed` is how often the source itself repeats something. A runaway loop has at least 12
    items, at least 4 rounds, and at least two more rounds than `allowed`.
    """
    # A longer period cannot have enough rounds yet.
    for period in range(1, min(MAX_PERIOD, len(items) // _MIN_COUNT) + 1):
        last = items[len(items) - period :]
        count = 1
        while items[len(items) - period * (count + 1) : len(items) - period * count] == last:
            count += 1
        if _runs_away(loop := Loop(len(items) - period * count, period, count), allowed):
            return loop
    return None


def anywhere(items: Sequence[Hashable], allowed: int) -> Loop | None:
    """Return the longest runaway loop in finished `items`, if any. `allowed` as in `at_end`."""
    loop = longest(items)
    return loop if _runs_away(loop, allowed) else None


def cut(items: Sequence[T], loop: Loop, keep: int) -> list[T]:
    """Return `items` with only `keep` rounds of the loop, and the rest unless it is a part of one
    more round.
    """
    rest = list(items[loop.start + loop.length :])
    if rest == list(items[loop.start : loop.start + len(rest)]) and len(rest) < loop.period:
        rest = []
    return [*items[: loop.start + loop.period * keep], *rest]


def _runs_away(loop: Loop, allowed: int) -> bool:
    # Both are needed: "holy, holy, holy" is short, and a litany repeats as often as its source.
    return loop.length >= _MIN_ITEMS and loop.count >= max(_MIN_COUNT, allowed + 2)


def compression_ratio(text: str) -> float:
    """Return a text's compression ratio with zlib: Whisper's measure of repetition."""
    # Half of a surrogate pair has no UTF-8 form; the measure must not fail on it.
    raw = text.encode(errors="replace")
    return len(raw) / len(zlib.compress(raw))
