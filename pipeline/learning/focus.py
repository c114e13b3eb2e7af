"""What the next seven days are for: which terms, which speaker, which captions to review. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.learning.data.pairs import LearningPair
from pipeline.learning.data.terms import terms_in

LEAST_SHARE, MOST_SHARE = 0.05, 0.15
"""Share of the captions accepted by their score only that a person reviews."""
_TERMS = 8


@dataclass(frozen=True, slots=True)
class TermFocus:
    """A church term and how often it was said and misheard."""

    term: str
    said: int
    misheard: int


@dataclass(frozen=True, slots=True)
class SpeakerFocus:
    """Who is heard worst, and how surely: the mean confidence of the recognizer, 0..1."""

    speaker: str
    captions: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A caption to review."""

    session_id: str
    id: int
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class Focus:
    """What the next cycle is for; empty parts where there is nothing to say."""

    utc: str
    terms: tuple[TermFocus, ...]
    speaker: SpeakerFocus | None
    """None without a labelled speaker."""
    review: tuple[Candidate, ...]
    captions: int
    """Of which the candidates are the worst."""


def find_focus(pairs: Sequence[LearningPair], utc: str) -> Focus:
    """Return what to look at next, of all pairs that were collected."""
    scored = [pair for pair in pairs if pair.source == "auto"]
    return Focus(
        utc=utc,
        terms=_terms(pairs),
        speaker=_speaker(pairs),
        review=_candidates(scored),
        captions=len(scored),
    )


def terms_misheard(pairs: Iterable[LearningPair]) -> tuple[Counter[str], Counter[str]]:
    """Return how often each term was said, and how often it is not in what was recognized."""
    said, misheard = Counter[str](), Counter[str]()
    for pair in pairs:
        said.update(pair.terms)
        heard = set(terms_in(pair.heard, pair.terms))
        misheard.update(term for term in pair.terms if term not in heard)
    return said, misheard


def _terms(pairs: Iterable[LearningPair]) -> tuple[TermFocus, ...]:
    said, misheard = terms_misheard(pairs)
    ranked = sorted(
        misheard, key=lambda term: (-misheard[term], -misheard[term] / said[term], term)
    )
    return tuple(TermFocus(term, said[term], misheard[term]) for term in ranked[:_TERMS])


def _speaker(pairs: Iterable[LearningPair]) -> SpeakerFocus | None:
    by_speaker: dict[str, list[float]] = {}
    for pair in pairs:
        if pair.speaker and pair.stt_confidence is not None:
            by_speaker.setdefault(pair.speaker, []).append(pair.stt_confidence)
    told = [
        SpeakerFocus(name, len(each), round(fmean(each), 3)) for name, each in by_speaker.items()
    ]
    return min(told, key=lambda each: (each.confidence, each.speaker), default=None)


def _candidates(scored: Sequence[LearningPair]) -> tuple[Candidate, ...]:
    """Return the captions with the lowest scores: those that wait for a review, within limits."""
    waiting = sum(pair.status == "review" for pair in scored)
    least, most = (round(share * len(scored)) for share in (LEAST_SHARE, MOST_SHARE))
    # 15 % of a few captions are none: one is looked at in any case.
    count = min(max(waiting, least), max(most, 1 if scored else 0))
    ranked = sorted(scored, key=lambda pair: (pair.quality_score or 0.0, pair.session_id, pair.id))
    return tuple(
        Candidate(pair.session_id, pair.id, round(pair.quality_score or 0.0, 3), pair.text)
        for pair in ranked[:count]
    )
