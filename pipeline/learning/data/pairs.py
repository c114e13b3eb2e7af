"""A pair as it is learnt from: two texts, where they come from, and how far they can be trusted.

A line of a file of pairs has the texts under the names of their languages (`en`, `es`) and all
other fields under their own names, so that other programs can use it without knowing ours.

Pairs are ranked in three tiers: `accepted`, what the score, an operator or a reviewer vouches for;
`diversity`, of the middling pairs those that bring words which the first tier lacks; `general`, a
few pairs of a general corpus, so that a model does not forget other words than a church's.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError, reading
from pipeline.core.files import write_whole
from pipeline.protocol.codec import parse_json
from pipeline.records.quality import THRESHOLDS, Flag
from pipeline.text.words import words

Origin: TypeAlias = Literal["auto", "operator", "review", "general"]
"""Who vouches for a pair: the score, an operator's edit, a review, or a corpus from elsewhere."""

Status: TypeAlias = Literal["accepted", "moderate", "review", "rejected"]
"""What becomes of a pair: it is learnt from, spot-checked, put before a person, or left."""

Tier: TypeAlias = Literal["", "accepted", "diversity", "general"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPair:
    """A pair of texts. Scores are 0..1, None where nothing could be measured."""

    session_id: str
    """The session's name; empty for a pair that is of no session."""
    id: int = 0
    """The utterance."""
    timestamp: str = ""
    """When the caption was shown."""
    source_lang: str
    text: str
    """What was said; in files under the language's name."""
    # For the mix: a translator has to learn what it will get, mistakes of the recognizer included.
    heard: str = ""
    """As it was recognized, before the dictionary and any correction."""
    target_lang: str
    translation: str
    """In files under the language's name."""
    source: Origin
    status: Status
    tier: Tier = ""
    weight: float = 1.0
    """How much it counts in training, 1 on average."""
    quality_score: float | None = None
    stt_confidence: float | None = None
    translation_qe: float | None = None
    marian_agreement: float | None = None
    flags: tuple[Flag, ...] = ()
    obstacle: str = ""
    """Why its score alone does not let it be learnt from; "" if nothing is in the way."""
    engine: str = ""
    """Who made the translation."""
    model: str = ""
    """Its model file."""
    model_sha256: str = ""
    terms: tuple[str, ...] = ()
    """Church terms in the source text."""
    speaker: str = ""
    reviewer: str = ""
    audio: str = ""
    """File of its sound in the data folder's `audio`; empty if none was kept."""
    start_s: float = 0.0
    end_s: float = 0.0

    @property
    def translator(self) -> str:
        """The translator and its language: scores are compared within these only."""
        return f"{self.model_sha256 or self.engine} {self.target_lang}"

    @property
    def certainty(self) -> float | None:
        """How sure the translators are of the translation, 0..1, whatever was heard."""
        return certainty(self.translation_qe, self.marian_agreement)

    @property
    def key(self) -> tuple[str, str]:
        """Both texts without case and punctuation: equal for what is the same pair."""
        return " ".join(words(self.text)), " ".join(words(self.translation))


def certainty(estimate: float | None, agreement: float | None) -> float | None:
    """Return how sure two translators are, 0..1: one's estimate, and how far both agree."""
    if estimate is None or agreement is None:
        return estimate
    # The score's own weights, so that both say the same of two translations.
    weights = THRESHOLDS.estimate_weight, THRESHOLDS.agreement_weight
    told = weights[0] * estimate + weights[1] * agreement
    return round(told / sum(weights), 4)


_PAIR = TypeAdapter(LearningPair)


def pair_line(pair: LearningPair) -> bytes:
    """Return a pair as a line of a file."""
    fields = asdict(pair)
    text, translation = fields.pop("text"), fields.pop("translation")
    named = {pair.source_lang: text, pair.target_lang: translation}
    return orjson.dumps(named | fields, option=orjson.OPT_APPEND_NEWLINE)


def parse_line(line: bytes) -> LearningPair:
    """Read back a line of a file of pairs. Raises ProtocolError."""
    try:
        fields = orjson.loads(line)
        source, target = fields["source_lang"], fields["target_lang"]
        fields |= {"text": fields.pop(source), "translation": fields.pop(target)}
    # TypeError: a line may be JSON and no object.
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError("bad-json", f"This is no pair: {error}.") from None
    # Once more as JSON: of Python's own values a list is no tuple.
    return parse_json(_PAIR, orjson.dumps(fields))


def read_pairs(path: Path) -> list[LearningPair]:
    """Return the pairs of a file, none if there is no file. Raises LearningError."""
    with reading(path, LearningError, "pairs-unreadable"):
        lines = path.read_bytes().splitlines() if path.exists() else []
    pairs = []
    for number, line in enumerate(lines, 1):
        try:
            pairs.append(parse_line(line))
        except ProtocolError as error:
            raise LearningError(
                "pairs-unreadable",
                f"{path}, line {number}: {error.message}",
                "Delete the file and run `stark-translate learn collect` again.",
            ) from None
    return pairs


def write_pairs(path: Path, pairs: Iterable[LearningPair]) -> None:
    """Write a file of pairs in one piece. Raises OSError."""
    write_whole(path, b"".join(pair_line(pair) for pair in pairs))


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
    known = {_identity(pair) for pair in accepted}
    middling = _unique(
        pair
        for pair in every
        if pair.status == "moderate" and not pair.obstacle and _identity(pair) not in known
    )
    diverse = _novel(accepted, middling, shares)
    chosen = _weighted(accepted, "accepted") + _weighted(diverse, "diversity")
    known |= {_identity(pair) for pair in diverse}
    more = [pair for pair in general if _identity(pair) not in known]
    # Their share is of all pairs, themselves included.
    wanted = round(shares.general / (1 - shares.general) * len(chosen))
    drawn = random.Random(_SEED).sample(more, min(wanted, len(more)))  # noqa: S311 - no secret
    return chosen + [replace(pair, tier="general") for pair in drawn]


def _unique(pairs: Iterable[LearningPair]) -> list[LearningPair]:
    """Return each pair once, as the one who is trusted most tells it."""
    best: dict[tuple[str, str, str], LearningPair] = {}
    for pair in pairs:
        other = best.get(_identity(pair))
        # A dict keeps a key's first place, so that the order does not depend on who is trusted.
        if other is None or _trust(pair) > _trust(other):
            best[_identity(pair)] = pair
    return list(best.values())


def _identity(pair: LearningPair) -> tuple[str, str, str]:
    # With the language: "Santo, santo, santo" is Spanish and Portuguese.
    return (pair.target_lang, *pair.key)


def _trust(pair: LearningPair) -> tuple[int, float]:
    return _TRUST[pair.source], pair.quality_score or 0.0


def _novel(
    accepted: Sequence[LearningPair], middling: Sequence[LearningPair], shares: TierShares
) -> list[LearningPair]:
    """Return the middling pairs that bring the most new words, the newest words first."""
    seen = {word for pair in accepted for word in words(pair.text)}
    speakers = {pair.speaker for pair in middling}
    room = math.floor(shares.diversity * len(accepted))
    # Only where there are several: one speaker's half of the tier would be thrown away.
    cap = room if len(speakers) < 2 else math.ceil(shares.speaker * room)
    by_speaker: Counter[str] = Counter()
    chosen: list[LearningPair] = []
    # Parted into words once: each round looks at every pair that is left.
    left = [(pair, set(words(pair.text))) for pair in middling]
    while left and len(chosen) < room:
        at = max(range(len(left)), key=lambda number: len(left[number][1] - seen))
        best, said = left.pop(at)
        new = said - seen
        # The best brings nothing new, so none of the others does.
        if not new:
            break
        if by_speaker[best.speaker] < cap:
            by_speaker[best.speaker] += 1
            seen |= new
            chosen.append(best)
    return chosen


def _weighted(pairs: Sequence[LearningPair], tier: Tier) -> list[LearningPair]:
    """Return pairs with weights: rare words count more, a phrase that is said again counts less."""
    said = Counter(word for pair in pairs for word in set(words(pair.text)))
    phrases = Counter(pair.key[0] for pair in pairs)
    raw = [
        fmean([1 / math.sqrt(said[word]) for word in set(words(pair.text))] or [1.0])
        / phrases[pair.key[0]]
        for pair in pairs
    ]
    # By the mean, so that a mix of such pairs has the weight of as many usual ones.
    mean = fmean(raw) if raw else 1.0
    return [
        replace(
            pair,
            tier=tier,
            weight=round(min(_MOST_WEIGHT, max(_LEAST_WEIGHT, each / mean)), 3),
        )
        for pair, each in zip(pairs, raw, strict=True)
    ]
