"""What a display was sent during a session, and when: the material of all figures of flicker.

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
    """One version of one caption as a display got it."""

    at_s: float
    """When it was there."""
    message: CaptionMessage


@dataclass(frozen=True, slots=True)
class Painted:
    """All versions up to `seq` were painted."""

    at_s: float
    """Monotonic, as this process counts."""
    seq: int


def at_the_glass(
    sightings: Sequence[Sighting], painted: Sequence[Painted], start_s: float
) -> tuple[Sighting, ...]:
    """Return what was seen on the page, at the times at which it was painted.

    `start_s` is when the recording began. A version that the page skipped, because a newer one of
    the same caption came before the next frame, was never seen and is left out, as is one that was
    still to be painted at the end.
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
"""What somebody can read of a version."""


def full(message: CaptionMessage) -> str:
    """Return all of the translation, as phones show it."""
    return message.target.text


def committed(message: CaptionMessage) -> str:
    """Return what the projector shows of the translation: of a partial the stable beginning."""
    return message.target.text if message.final else message.target.text[: message.stable]


def recognized(message: CaptionMessage) -> str:
    """Return what was heard."""
    return message.source.text


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one caption in the order of their arrival, at least one.

    A caption that is opened again after its final goes on in the same history: the last version
    counts as its final.
    """

    id: int
    sightings: tuple[Sighting, ...]

    @property
    def last(self) -> CaptionMessage:
        """The version that was left standing."""
        return self.sightings[-1].message

    @property
    def first_final(self) -> int | None:
        """The place of the first final version; None if there is none."""
        return next((i for i, each in enumerate(self.sightings) if each.message.final), None)

    @property
    def rewrite(self) -> int:
        """The place of the first version that the final translator made.

        Where one translator makes all versions this is the first final one.
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
    """Words that somebody could read and that a later version took back."""

    partial: int
    """By a version of an utterance that still had no final text."""
    final: int
    """By the final text, or on the way to it once the final translator had begun."""
    reopened: int
    """Of a final text, or later."""
    of: int
    """Words that were left standing in the end."""

    def share(self, erased: int) -> float | None:
        """Return erased words for each word of the final text; None if there is no text."""
        return erased / self.of if self.of else None

    @property
    def total(self) -> int:
        """All words that were taken back."""
        return self.partial + self.final + self.reopened


def erasure(captions: Iterable[History], view: View) -> Erasure:
    """Count what was taken back of a session.

    Of each version the words behind its longest common beginning with the next one are erased
    (Niehues et al. 2016; over the length of the final text Arivazhagan et al. 2020).
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
    """A word of the text that was left, and since when it has stood there without a change."""

    text: str
    at_s: float
    """When a display had it."""
    place: int
    """The how manieth of its caption, from 0."""
    count: int
    """Words of its caption."""


def standing(caption: History, view: View) -> list[StandingWord]:
    """Return the words of the last version, each with the first time since which it stands.

    Words are compared place by place, without case and punctuation: what a reader takes for the
    same word.
    """
    final = view(caption.last).split()
    keys = [key(word) for word in final]
    since: list[Sighting] = [caption.sightings[-1]] * len(final)
    stands = [True] * len(final)
    for each in reversed(caption.sightings):
        shown = [key(word) for word in view(each.message).split()]
        for place, word in enumerate(keys):
            if not stands[place]:
                continue
            if place < len(shown) and shown[place] == word:
                since[place] = each
            else:
                stands[place] = False
    return [
        StandingWord(word, at.at_s, place, len(final))
        for place, (word, at) in enumerate(zip(final, since, strict=True))
    ]


def diagonal_lags_s(caption: History, view: View) -> list[float]:
    """Return how long after its share of the utterance each word stood for good, seconds.

    Nobody says which word of a translation belongs to which moment: word k of n is due when k/n of
    the utterance are spoken.
    """
    last = caption.last
    length_s = last.end_s - last.start_s
    return [
        word.at_s - (last.start_s + length_s * (word.place + 1) / word.count)
        for word in standing(caption, view)
    ]


def key(word: str) -> str:
    """Return a word as it is compared: without case and punctuation, unless that is all of it."""
    return " ".join(words(word)) or word
