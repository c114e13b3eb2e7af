"""Measure the recognition of read human speech: words, sentences, full stops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jiwer

from pipeline.evaluation.word_errors import word_errors
from pipeline.text.words import words

_STOP = re.compile(r"[.!?][\"'»”’)]*$")
_BETWEEN = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class VoicesScore:
    """The recognition of human speech. `lost`: sentences with under half of the words recognized.

    `stops` counts the sentences whose last word was recognized with a full stop, of `sentences`
    that end with one; `wer` is 0..1 and above.
    """

    wer: float
    words: int
    sentences: int
    stops: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: tuple[str, ...]
    has_stop: bool


def partners(said: Sequence[str], heard: Sequence[str], *, alike: bool = False) -> dict[int, int]:
    """Return the index in `heard` of each word of `said` that is aligned to a word there.

    Words are as `text.words` makes them, at least one each. With `alike` a word that was
    recognized as another word has no partner.
    """
    kinds = {"equal"} if alike else {"equal", "substitute"}
    found: dict[int, int] = {}
    for chunk in jiwer.process_words(" ".join(said), " ".join(heard)).alignments[0]:
        if chunk.type in kinds:
            for step in range(chunk.ref_end_idx - chunk.ref_start_idx):
                found[chunk.ref_start_idx + step] = chunk.hyp_start_idx + step
    return found


def score_text(texts: Sequence[str], heard: str) -> VoicesScore:
    """Compare the recognized text with the reference; `texts` have at least one word."""
    sentences = [sentence for text in texts for sentence in _sentences(text)]
    spoken = [word for sentence in sentences for word in sentence.words]
    recognized = list(_with_stops(heard))
    # A misrecognized word still has its position, and its full stop counts.
    partner = partners(spoken, [word for word, _ in recognized])
    errors, count = word_errors(" ".join(spoken), heard)
    lost, stops, start = [], 0, 0
    for sentence in sentences:
        places = range(start, start + len(sentence.words))
        start = places.stop
        right = sum(
            place in partner and recognized[partner[place]][0] == spoken[place] for place in places
        )
        # With fewer than half of the words right, a reader does not understand the sentence.
        if right < len(places) / 2:
            lost.append(sentence.text)
        last = partner.get(places.stop - 1)
        stops += sentence.has_stop and last is not None and recognized[last][1]
    return VoicesScore(
        wer=round(errors / count, 4),
        words=count,
        sentences=sum(sentence.has_stop for sentence in sentences),
        stops=stops,
        lost=tuple(lost),
    )


def _sentences(text: str) -> Iterator[_Sentence]:
    for each in _BETWEEN.split(text.strip()):
        if spoken := tuple(words(each)):
            yield _Sentence(each, spoken, has_stop=bool(_STOP.search(each)))


def _with_stops(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text, and whether a sentence ends after each."""
    for token in text.split():
        found = words(token)
        for place, word in enumerate(found):
            # A token with a hyphen is several words: the stop belongs to the last of them.
            yield word, place == len(found) - 1 and bool(_STOP.search(token))
