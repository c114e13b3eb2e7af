"""The lost-tail guard: find and decode speech that a text leaves out at its end. Pure.

Whisper sometimes ends its text too early, with good log-probabilities: nothing else shows that a
sentence is missing. Forced alignment does: it says when the last word ends (faster-whisper's word
timestamps are made from the same alignment, Whisper's paper, appendix on timestamps, by dynamic
time warping over cross-attention). Where the voice detector heard speech long after that, the
recognizer decodes the rest by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.audio.level import level_dbfs
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition
from pipeline.text.hallucinations import UNSURE_LOGPROB, reason

LOST_S = 1.0
"""Speech behind the last word from which on words are missing; whole texts leave 0.7 s at most."""

UNSURE = 0.5
"""A last word less likely than this was perhaps cut short."""

FRAME_S = 0.02
"""Length of an encoder frame."""

_WORD_S = 1.5
"""Nothing longer is one word: in a language without spaces a whole text looks like one."""

_REPEATED = 3
"""Longest repetition removed where two texts are joined."""


@dataclass(frozen=True, slots=True)
class LastWord:
    """The last word of a text, in the time of the audio that was decoded."""

    first_token: int
    """Index of its first token."""
    start_s: float
    end_s: float
    probability: float

    @property
    def is_doubtful(self) -> bool:
        """Whether it was perhaps cut short, and is to be heard again with the rest."""
        return self.probability < UNSURE and self.end_s - self.start_s < _WORD_S

    @property
    def rest_start_s(self) -> float:
        """From where on to decode the rest: behind the word, or again from a doubtful one."""
        return self.start_s if self.is_doubtful else self.end_s


def last_word(
    pieces: Sequence[str], path: Sequence[tuple[int, int]], probabilities: Sequence[float]
) -> LastWord | None:
    """Return the last word of the tokens whose texts are `pieces`; None if they hold no word.

    A word begins with white space. `path` holds (token index, frame) pairs in order, in which the
    index behind the last token means the end of the text.
    """
    spoken = [i for i, piece in enumerate(pieces) if any(sign.isalnum() for sign in piece)]
    if not spoken:
        return None
    last = first = spoken[-1]
    while first > 0 and not pieces[first][:1].isspace():
        first -= 1
    # A mark behind the word is no part of it: the time that it gets is silence.
    frames = [frame for token, frame in path if first <= token <= last]
    if not frames:
        return None
    # A word is as likely as all of its tokens together.
    probability = float(np.prod(np.asarray(probabilities[first : last + 1])))
    return LastWord(first, min(frames) * FRAME_S, (max(frames) + 1) * FRAME_S, probability)


def ends_of(count: int, path: Sequence[tuple[int, int]]) -> tuple[float, ...]:
    """Return when each of `count` tokens was over, in seconds, from a path as of `last_word`.

    () where the path leaves a token out.
    """
    ends = dict(path)  # the last frame of each: the path goes forward
    if any(token not in ends for token in range(count)):
        return ()
    return tuple(round((ends[token] + 1) * FRAME_S, 2) for token in range(count))


def is_credible(rest: Recognition, pcm: Pcm) -> bool:
    """Return whether what was heard in `pcm`, shape (n,), is to be believed.

    More is asked for than of a whole utterance: the voice detector may have taken an organ for a
    voice, and a text that ends early is better than words that nobody said.
    """
    sure = rest.avg_logprob is not None and rest.avg_logprob > UNSURE_LOGPROB
    duration_s = pcm.size / SAMPLE_RATE
    return sure and not reason(rest, rest.text, level_dbfs(pcm), duration_s)


def joined(first: Recognition, rest: Recognition) -> Recognition:
    """Return two recognitions as one. Words heard twice at the cut (at most 3) come once."""
    texts = first.text.split(), rest.text.split()
    begin = _repeated(*texts)
    # A mean over tokens, roughly: the longer text counts for more.
    weights = [max(1, len(text)) for text in texts]
    logprobs = [part.avg_logprob for part in (first, rest) if part.avg_logprob is not None]
    # English of one part alone would be shown as if the other had not been said.
    is_english = all(part.english or not part.text for part in (first, rest))
    return replace(
        first,
        text=" ".join([*texts[0], *texts[1][begin:]]),
        avg_logprob=float(np.average(logprobs, weights=weights)) if len(logprobs) == 2 else None,
        # The worse of both: a loop in either part is one in the whole.
        compression_ratio=max(first.compression_ratio or 0.0, rest.compression_ratio or 0.0),
        words=(*first.words, *rest.words[begin:]),
        lost_tail_s=first.lost_tail_s + rest.lost_tail_s,
        tail_recovered=first.tail_recovered or rest.tail_recovered,
        english=f"{first.english} {rest.english}".strip() if is_english else "",
    )


def _repeated(ended: Sequence[str], begun: Sequence[str]) -> int:
    """Return how many words at the end of one text are also the beginning of the next."""
    before, after = [_plain(word) for word in ended], [_plain(word) for word in begun]
    # The longest first: of "no, no" two words are repeated and not one.
    counts = range(min(_REPEATED, len(before), len(after)), 0, -1)
    return next((count for count in counts if before[-count:] == after[:count]), 0)


def _plain(word: str) -> str:
    return "".join(filter(str.isalnum, word)).casefold()
