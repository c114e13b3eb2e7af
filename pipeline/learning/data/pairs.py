"""Training pairs: two texts, their origin, and how far they can be trusted.

A line of a file of pairs has the texts under the codes of their languages (`en`, `es`) and all
other fields under their own names, so that other programs can read it.

Pairs have three tiers: `accepted`, approved by the score, an operator or a reviewer; `diversity`,
pairs with a moderate score that add words missing in the first tier; `general`, a few pairs of a
general corpus, so that a model does not forget words outside a church's vocabulary.
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
"""What approved a pair: the score, an operator's edit, a review, or an outside corpus."""

Status: TypeAlias = Literal["accepted", "moderate", "review", "rejected"]
"""A pair is used for training, spot-checked, reviewed by a person, or dropped."""

Tier: TypeAlias = Literal["", "accepted", "diversity", "general"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPair:
    """A pair of texts. Scores are 0..1, None if they could not be measured."""

    session_id: str
    """The session's name; empty for a pair that is not from a session."""
    id: int = 0
    """The utterance."""
    timestamp: str = ""
    """When the caption was shown."""
    source_lang: str
    text: str
    """The spoken text; files store it under the language code."""
    # For the mix: a translator must learn from its real input, with the recognizer's mistakes.
    heard: str = ""
    """The recognized text, before the dictionary and any correction."""
    target_lang: str
    translation: str
    """Files store it under the language code."""
    source: Origin
    status: Status
    tier: Tier = ""
    weight: float = 1.0
    """Weight in training, 1 on average."""
    quality_score: float | None = None
    stt_confidence: float | None = None
    translation_qe: float | None = None
    marian_agreement: float | None = None
    flags: tuple[Flag, ...] = ()
    obstacle: str = ""
    """Why the pair's score alone cannot accept it; "" if it can."""
    engine: str = ""
    """The engine that made the translation."""
    model: str = ""
    """The engine's model file."""
    model_sha256: str = ""
    terms: tuple[str, ...] = ()
    """Church terms in the source text."""
    speaker: str = ""
    reviewer: str = ""
    corrected: bool = False
    """Whether an operator has corrected what was heard: its sound is learnt from at once, even if
    its translation waits for a review.
    """
    audio: str = ""
    """Audio file in the data folder's `audio`; empty if none was kept."""
    start_s: float = 0.0
    end_s: float = 0.0

    @property
    def translator(self) -> str:
        """The translator and its target language: scores are comparable only within both."""
        return f"{self.model_sha256 or self.engine} {self.target_lang}"

    @property
    def certainty(self) -> float | None:
        """Confidence of the translators in the translation, 0..1, apart from the recognition."""
        return certainty(self.translation_qe, self.marian_agreement)

    @property
    def key(self) -> tuple[str, str]:
        """Both texts without case and punctuation, to find equal pairs."""
        return " ".join(words(self.text)), " ".join(words(self.translation))


def certainty(estimate: float | None, agreement: float | None) -> float | None:
    """Return the translators' confidence, 0..1, from one's estimate and the agreement of both."""
    if estimate is None or agreement is None:
        return estimate
    # The weights of the score, so that both rank two translations alike.
    weights = THRESHOLDS.estimate_weight, THRESHOLDS.agreement_weight
    total = weights[0] * estimate + weights[1] * agreement
    return round(total / sum(weights), 4)


_PAIR = TypeAdapter(LearningPair)
_NUMBER = "utterance"


def pair_line(pair: LearningPair) -> bytes:
    """Return a pair as a line of a file."""
    fields = asdict(pair)
    text, translation = fields.pop("text"), fields.pop("translation")
    named = {pair.source_lang: text, pair.target_lang: translation}
    # `id` is Indonesian, too: there its text has this name, and the number has another.
    if "id" in named:
        fields[_NUMBER] = fields.pop("id")
    return orjson.dumps(named | fields, option=orjson.OPT_APPEND_NEWLINE)


def parse_line(line: bytes) -> LearningPair:
    """Read back a line of a file of pairs. Raises ProtocolError."""
    try:
        fields = orjson.loads(line)
        source, target = fields["source_lang"], fields["target_lang"]
        fields |= {"text": fields.pop(source), "translation": fields.pop(target)}
        if "id" in (source, target):
            fields["id"] = fields.pop(_NUMBER)
    # TypeError: a line may be JSON but not an object.
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError("bad-json", f"This is no pair: {error}.") from None
    # As JSON again: a Python list would not validate as a tuple.
    return parse_json(_PAIR, orjson.dumps(fields))


def read_pairs(path: Path) -> list[LearningPair]:
    """Return the pairs of a file, [] if it does not exist. Raises LearningError."""
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
    """Write a file of pairs atomically. Raises OSError."""
    write_whole(path, b"".join(pair_line(pair) for pair in pairs))


_TRUST = {"review": 2, "operator": 1, "auto": 0, "general": -1}
# Fixed, so that the next collection draws the same pairs.
_SEED = 20261122
_LEAST_WEIGHT, _MOST_WEIGHT = 0.25, 2.0


SHARES = {
    # At most this many pairs of the second tier for each pair of the first.
    "diversity": 0.2,
    # Of all pairs, if a corpus is given.
    "general": 0.075,
    # Of one speaker in the second tier, at most, if there are several speakers.
    "speaker": 0.5,
}
"""Shares of the tiers."""


def select(pairs: Iterable[LearningPair], general: Sequence[LearningPair]) -> list[LearningPair]:
    """Return the pairs for training in their order, each with its tier and weight."""
    every = list(pairs)
    accepted = _unique(pair for pair in every if pair.status == "accepted")
    known = {_identity(pair) for pair in accepted}
    middling = _unique(
        pair
        for pair in every
        if pair.status == "moderate" and not pair.obstacle and _identity(pair) not in known
    )
    diverse = _novel(accepted, middling)
    chosen = _weighted(accepted, "accepted") + _weighted(diverse, "diversity")
    known |= {_identity(pair) for pair in diverse}
    more = [pair for pair in general if _identity(pair) not in known]
    # The share counts all pairs, including the general ones.
    wanted = round(SHARES["general"] / (1 - SHARES["general"]) * len(chosen))
    drawn = random.Random(_SEED).sample(more, min(wanted, len(more)))  # noqa: S311 - no secret
    return chosen + [replace(pair, tier="general") for pair in drawn]


def _unique(pairs: Iterable[LearningPair]) -> list[LearningPair]:
    """Return each pair once, in the version with the most trusted origin."""
    best: dict[tuple[str, str, str], LearningPair] = {}
    for pair in pairs:
        other = best.get(_identity(pair))
        # A dict keeps a key's first place, so the order does not depend on the trust.
        if other is None or _trust(pair) > _trust(other):
            best[_identity(pair)] = pair
    return list(best.values())


def _identity(pair: LearningPair) -> tuple[str, str, str]:
    # With the language: "Santo, santo, santo" is both Spanish and Portuguese.
    return (pair.target_lang, *pair.key)


def _trust(pair: LearningPair) -> tuple[int, float]:
    return _TRUST[pair.source], pair.quality_score or 0.0


def _novel(
    accepted: Sequence[LearningPair], middling: Sequence[LearningPair]
) -> list[LearningPair]:
    """Return the moderate pairs that add the most new words, those with the most first."""
    seen = {word for pair in accepted for word in words(pair.text)}
    speakers = {pair.speaker for pair in middling}
    room = math.floor(SHARES["diversity"] * len(accepted))
    # Only with several speakers: otherwise half of the tier would stay empty.
    cap = room if len(speakers) < 2 else math.ceil(SHARES["speaker"] * room)
    by_speaker: Counter[str] = Counter()
    chosen: list[LearningPair] = []
    # Split into words once: each round looks at all remaining pairs.
    left = [(pair, set(words(pair.text))) for pair in middling]
    while left and len(chosen) < room:
        at = max(range(len(left)), key=lambda number: len(left[number][1] - seen))
        best, said = left.pop(at)
        new = said - seen
        # If the best pair adds no new word, no other does.
        if not new:
            break
        if by_speaker[best.speaker] < cap:
            by_speaker[best.speaker] += 1
            seen |= new
            chosen.append(best)
    return chosen


def _weighted(pairs: Sequence[LearningPair], tier: Tier) -> list[LearningPair]:
    """Return pairs with weights: rare words weigh more, repeated phrases less."""
    said = Counter(word for pair in pairs for word in set(words(pair.text)))
    phrases = Counter(pair.key[0] for pair in pairs)
    raw = [
        fmean([1 / math.sqrt(said[word]) for word in set(words(pair.text))] or [1.0])
        / phrases[pair.key[0]]
        for pair in pairs
    ]
    # Divided by the mean, so that the pairs weigh as much as the same number of unweighted ones.
    mean = fmean(raw) if raw else 1.0
    return [
        replace(
            pair,
            tier=tier,
            weight=round(min(_MOST_WEIGHT, max(_LEAST_WEIGHT, each / mean)), 3),
        )
        for pair, each in zip(pairs, raw, strict=True)
    ]
