"""Rank pairs by who vouches for them: which are learnt from, and how much each counts.

Three tiers: `accepted`, what the score, an operator or a reviewer vouches for; `diversity`, of the
middling pairs those that bring words which the first tier lacks; `general`, a few pairs of a
general corpus, so that a model that learns a church's words does not forget the others.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from pipeline.learning.data.pairs import LearningPair
from pipeline.text.words import words

_TRUST = {"review": 2, "operator": 1, "auto": 0, "general": -1}
# Fixed: the next collection draws the same pairs again.
_SEED = 20261122
_LEAST_WEIGHT, _MOST_WEIGHT = 0.25, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TierShares:
    """How large the tiers are, and how much of one speaker there may be; all 0..1."""

    diversity: float = 0.2
    """Pairs of the second tier for each of the first, at most."""
    general: float = 0.075
    """Share of all pairs that are general ones, if a corpus is given."""
    speaker: float = 0.5
    """Share of the second tier that one speaker may have, where there are several."""


def select(
    pairs: Iterable[LearningPair], general: Sequence[LearningPair], shares: TierShares
) -> list[LearningPair]:
    """Return the pairs to learn from, each with its tier and weight, the order kept."""
    every = list(pairs)
    accepted = _unique(pair for pair in every if pair.status == "accepted")
    known = {pair.key for pair in accepted}
    middling = _unique(
        pair
        for pair in every
        if pair.status == "moderate" and not pair.obstacle and pair.key not in known
    )
    diverse = _novel(accepted, middling, shares)
    chosen = _weighted(accepted, "accepted") + _weighted(diverse, "diversity")
    known |= {pair.key for pair in diverse}
    more = [pair for pair in general if pair.key not in known]
    # Their share is of all pairs, themselves included.
    wanted = round(shares.general / (1 - shares.general) * len(chosen))
    drawn = random.Random(_SEED).sample(more, min(wanted, len(more)))  # noqa: S311 - no secret
    return chosen + [replace(pair, tier="general") for pair in drawn]


def _unique(pairs: Iterable[LearningPair]) -> list[LearningPair]:
    """Return each pair once, as the one who is trusted most tells it."""
    best: dict[tuple[str, str], LearningPair] = {}
    for pair in pairs:
        other = best.get(pair.key)
        if other is None or _trust(pair) > _trust(other):
            best[pair.key] = pair
    return list(best.values())


def _trust(pair: LearningPair) -> tuple[int, float]:
    return _TRUST[pair.source], pair.quality_score or 0.0


def _novel(
    accepted: Sequence[LearningPair], middling: Sequence[LearningPair], shares: TierShares
) -> list[LearningPair]:
    """Return the middling pairs that bring the most new words, the newest words first."""
    seen = {word for pair in accepted for word in words(pair.text)}
    speakers = {pair.speaker for pair in middling}
    room = math.floor(shares.diversity * len(accepted))
    cap = room if len(speakers) < 2 else math.ceil(shares.speaker * room)
    by_speaker: Counter[str] = Counter()
    chosen: list[LearningPair] = []
    left = list(middling)
    while left and len(chosen) < room:
        best = max(left, key=lambda pair: len(set(words(pair.text)) - seen))
        left.remove(best)
        new = set(words(best.text)) - seen
        # The best brings nothing new, so none of the others does.
        if not new:
            break
        if by_speaker[best.speaker] < cap:
            by_speaker[best.speaker] += 1
            seen |= new
            chosen.append(best)
    return chosen


def _weighted(pairs: Sequence[LearningPair], tier: str) -> list[LearningPair]:
    """Return pairs with weights: rare words count more, a phrase that is said again counts less."""
    said = Counter(word for pair in pairs for word in set(words(pair.text)))
    phrases = Counter(pair.key[0] for pair in pairs)
    raw = [
        fmean([1 / math.sqrt(said[word]) for word in set(words(pair.text))] or [1.0])
        / phrases[pair.key[0]]
        for pair in pairs
    ]
    mean = fmean(raw) if raw else 1.0
    return [
        replace(
            pair,
            tier="accepted" if tier == "accepted" else "diversity",
            weight=round(min(_MOST_WEIGHT, max(_LEAST_WEIGHT, each / mean)), 3),
        )
        for pair, each in zip(pairs, raw, strict=True)
    ]
