"""What a display received during a session, and when: the data for all figures of flicker.

The journal keeps finals only, so the benchmark listens as a display does. Times are seconds of the
recording: 0 is when its first sample was played. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from pipeline.protocol.caption import CaptionMessage
from pipeline.text.commit_policy import common_beginning
from pipeline.text.words import words


@dataclass(frozen=True, slots=True)
class Sighting:
    """One version of one caption as a display received it."""

    at_s: float
    """When it arrived."""
    message: CaptionMessage


@dataclass(frozen=True, slots=True)
class Painted:
    """A report that all versions up to `seq` were painted."""

    at_s: float
    """On the monotonic clock of this process."""
    seq: int


def at_the_glass(
    sightings: Sequence[Sighting], painted: Sequence[Painted], start_s: float
) -> tuple[Sighting, ...]:
    """Return the versions that were visible on the page, at the times at which they were painted.

    `start_s` is when the recording began. A version is left out if the page skipped it, because a
    newer one of the same caption came before the next frame, or if it was not yet painted at the
    end.
    """
    seen = []
    reports = iter(sorted(painted, key=lambda each: each.seq))
    report = next(reports, None)
    for each in sorted(sightings, key=lambda each: each.message.seq):
        while report is not None and report.seq < each.message.seq:
            report = next(reports, None)
        if report is None:
            break
        seen.append(Sighting(report.at_s - start_s, each.message))
    newest = {(each.at_s, each.message.id): each for each in seen}
    return tuple(newest.values())


View: TypeAlias = Callable[[CaptionMessage], str]
"""Returns the text of a version that a reader can see."""


def full(message: CaptionMessage) -> str:
    """Return the whole translation, as phones show it."""
    return message.target.text


def committed(message: CaptionMessage) -> str:
    """Return the part of the translation that the projector shows: a partial's stable prefix."""
    return message.target.text if message.final else message.target.text[: message.stable]


def recognized(message: CaptionMessage) -> str:
    """Return the recognized text."""
    return message.source.text


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one caption in the order of their arrival, at least one.

    A caption that is reopened after its final continues in the same history: the last version
    counts as its final.
    """

    id: int
    sightings: tuple[Sighting, ...]

    @property
    def last(self) -> CaptionMessage:
        """The version that remained."""
        return self.sightings[-1].message

    @property
    def first_final(self) -> int | None:
        """The index of the first final version; None if there is none."""
        return next((i for i, each in enumerate(self.sightings) if each.message.final), None)

    @property
    def rewrite(self) -> int:
        """The index of the first version that the final translator made.

        If one translator makes all versions, this is the first final one.
        """
        final = self.first_final
        if final is None:
            return len(self.sightings)
        engines = [each.message.target.engine for each in self.sightings[: final + 1]]
        return engines.index(engines[-1]) if engines[0] != engines[-1] else final


def histories(sightings: Iterable[Sighting]) -> list[History]:
    """Return the sightings by caption, in order of `id`."""
    found: dict[int, list[Sighting]] = {}
    for each in sightings:
        found.setdefault(each.message.id, []).append(each)
    return [History(key, tuple(found[key])) for key in sorted(found)]


@dataclass(frozen=True, slots=True)
class Erasure:
    """Numbers of words that were visible and that a later version took back."""

    partial: int
    """Taken back by a version of an utterance that had no final text yet."""
    final: int
    """Taken back by the final text, or by a partial of the final translator."""
    reopened: int
    """Taken back from a final text, or later."""
    of: int
    """Words that remained in the end."""

    def share(self, erased: int) -> float | None:
        """Return erased words per word of the final text; None if there is no text."""
        return erased / self.of if self.of else None

    @property
    def total(self) -> int:
        """All words that were taken back."""
        return self.partial + self.final + self.reopened


def erasure(captions: Iterable[History], view: View) -> Erasure:
    """Count the words of a session that were taken back.

    The erased words of a version are those after its longest common prefix with the next version
    (Niehues et al. 2016; divided by the length of the final text: Arivazhagan et al. 2020).
    """
    partial = final = reopened = of = 0
    for caption in captions:
        texts = [view(each.message).split() for each in caption.sightings]
        of += len(texts[-1])
        first_final = caption.first_final
        for place, (old, new) in enumerate(pairwise(texts), 1):
            erased = len(old) - common_beginning(old, new)
            if first_final is not None and place > first_final:
                reopened += erased
            elif place >= caption.rewrite:
                final += erased
            else:
                partial += erased
    return Erasure(partial, final, reopened, of)


@dataclass(frozen=True, slots=True)
class StandingWord:
    """A word of the text that remained, and since when it was there unchanged."""

    text: str
    at_s: float
    """When a display received it."""
    place: int
    """Index of the word in its caption, from 0."""
    count: int
    """Number of words in its caption."""


def standing(caption: History, view: View) -> list[StandingWord]:
    """Return the words of the last version, each with the time since which it is unchanged.

    Words are compared position by position, without case and punctuation, as a reader would see the
    same word.
    """
    final = view(caption.last).split()
    keys = [key(word) for word in final]
    since: list[Sighting] = [caption.sightings[-1]] * len(final)
    unchanged = [True] * len(final)
    for each in reversed(caption.sightings):
        shown = [key(word) for word in view(each.message).split()]
        for place, word in enumerate(keys):
            if not unchanged[place]:
                continue
            if place < len(shown) and shown[place] == word:
                since[place] = each
            else:
                unchanged[place] = False
    return [
        StandingWord(word, at.at_s, place, len(final))
        for place, (word, at) in enumerate(zip(final, since, strict=True))
    ]


def diagonal_lags_s(caption: History, view: View) -> list[float]:
    """Return how long after its share of the utterance each word was stable, in seconds.

    It is unknown which word of a translation belongs to which moment: word k of n is due when k/n
    of the utterance is spoken.
    """
    last = caption.last
    length_s = last.end_s - last.start_s
    return [
        word.at_s - (last.start_s + length_s * (word.place + 1) / word.count)
        for word in standing(caption, view)
    ]


def key(word: str) -> str:
    """Return a word for comparison: without case and punctuation, unless it is only punctuation."""
    return " ".join(words(word)) or word
