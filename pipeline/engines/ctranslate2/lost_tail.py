"""The lost-tail guard: find and decode speech that is missing at the end of a text. Pure.

Whisper sometimes ends its text too early, with good log-probabilities. Only forced alignment
shows that a sentence is missing: it gives the end time of the last word (faster-whisper's word
timestamps use the same alignment: dynamic time warping over cross-attention, Whisper's paper,
appendix on timestamps). If the voice detector heard speech long after that time, the recognizer
decodes the rest separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.audio.level import level_dbfs
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition
from pipeline.text.hallucinations import UNSURE_LOGPROB, reason
from pipeline.text.words import closed_up, words

LOST_S = 1.0
"""With more speech after the last word, words are missing; complete texts leave at most 0.7 s."""

UNSURE = 0.5
"""A last word with a lower probability was perhaps cut short."""

FRAME_S = 0.02
"""Length of an encoder frame."""

_WORD_S = 1.5
"""Longest single word: in a language without spaces a whole text looks like one word."""

_REPEATED = 3
"""Longest repetition, in words, that is removed when two texts are joined."""


@dataclass(frozen=True, slots=True)
class LastWord:
    """The last word of a text, with times in the decoded audio."""

    first_token: int
    """Index of its first token."""
    start_s: float
    end_s: float
    probability: float

    @property
    def is_doubtful(self) -> bool:
        """Whether it was perhaps cut short and must be decoded again with the rest."""
        return self.probability < UNSURE and self.end_s - self.start_s < _WORD_S

    @property
    def rest_start_s(self) -> float:
        """Where to start decoding the rest: after the word, or at its start if it is doubtful."""
        return self.start_s if self.is_doubtful else self.end_s


def last_word(
    pieces: Sequence[str], path: Sequence[tuple[int, int]], probabilities: Sequence[float]
) -> LastWord | None:
    """Return the last word of the tokens whose texts are `pieces`; None if they hold no word.

    A word begins with white space. `path` holds (token index, frame) pairs in order; the index
    after the last token means the end of the text.
    """
    spoken = [i for i, piece in enumerate(pieces) if any(map(str.isalnum, piece))]
    if not spoken:
        return None
    last = first = spoken[-1]
    while first > 0 and not pieces[first][:1].isspace():
        first -= 1
    # Punctuation after the word is not part of it: its time is silence.
    frames = [frame for token, frame in path if first <= token <= last]
    if not frames:
        return None
    # A word's probability is the product of its tokens' probabilities.
    probability = float(np.prod(np.asarray(probabilities[first : last + 1])))
    return LastWord(first, min(frames) * FRAME_S, (max(frames) + 1) * FRAME_S, probability)


def ends_of(count: int, path: Sequence[tuple[int, int]]) -> tuple[float, ...]:
    """Return the end time of each of `count` tokens, in seconds; `path` is as in `last_word`.

    () if the path lacks a token.
    """
    ends = dict(path)  # the last frame of each: the path goes forward
    if any(token not in ends for token in range(count)):
        return ()
    return tuple(round((ends[token] + 1) * FRAME_S, 2) for token in range(count))


def is_credible(rest: Recognition, pcm: Pcm) -> bool:
    """Return whether the recognition of `pcm`, shape (n,), is credible.

    This is stricter than for a whole utterance: the voice detector may have taken an organ for a
    voice, and a text that ends early is better than words that nobody said.
    """
    sure = rest.avg_logprob is not None and rest.avg_logprob > UNSURE_LOGPROB
    duration_s = pcm.size / SAMPLE_RATE
    return sure and not reason(rest, rest.text, level_dbfs(pcm), duration_s)


def joined(first: Recognition, rest: Recognition) -> Recognition:
    """Return two recognitions as one. Words repeated at the cut (at most 3) are kept once."""
    texts = first.text.split(), rest.text.split()
    begin = _repeated(*texts)
    # A mean over tokens, roughly: the longer text counts for more.
    weights = [max(1, len(text)) for text in texts]
    logprobs = [part.avg_logprob for part in (first, rest) if part.avg_logprob is not None]
    # If only one part has English, the other part would be missing on screen.
    is_english = all(part.english or not part.text for part in (first, rest))
    return replace(
        first,
        text=closed_up(" ".join([*texts[0], *texts[1][begin:]])),
        avg_logprob=float(np.average(logprobs, weights=weights)) if len(logprobs) == 2 else None,
        # The worse of both: a loop in either part is a loop in the whole.
        compression_ratio=max(first.compression_ratio or 0.0, rest.compression_ratio or 0.0),
        words=(*first.words, *rest.words[begin:]),
        lost_tail_s=first.lost_tail_s + rest.lost_tail_s,
        tail_recovered=first.tail_recovered or rest.tail_recovered,
        english=f"{first.english} {rest.english}".strip() if is_english else "",
    )


def _repeated(ended: Sequence[str], begun: Sequence[str]) -> int:
    """Return how many words at the end of one text are also at the start of the next."""
    before, after = list(map(words, ended)), list(map(words, begun))
    # The longest first: in "no, no" two words are repeated, not one.
    counts = range(min(_REPEATED, len(before), len(after)), 0, -1)
    return next((count for count in counts if before[-count:] == after[:count]), 0)
